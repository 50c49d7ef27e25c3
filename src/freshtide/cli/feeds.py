"""feeds: what arrived, what is in trouble, and taking it up again."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from freshtide.catalog import RequestKind
from freshtide.cli.controlling import ask
from freshtide.cli.output import JsonOption, console, print_json
from freshtide.cli.places import HERE, ProjectOption, looking_at
from freshtide.core.errors import RunFailedError
from freshtide.core.files import FileState
from freshtide.core.instants import format_instant
from freshtide.observe import warehouse_status

app = typer.Typer(help="Show the feeds and what is wrong with their files.", invoke_without_command=True)


@app.callback()
def feeds(context: typer.Context, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Show the feeds, how many files arrived in which state, and why files are in trouble."""
    if context.invoked_subcommand is not None:
        return
    with looking_at(project) as (loaded, catalog):
        reports = warehouse_status(loaded, catalog, 0.0).feeds
    if as_json:
        print_json([report.as_json() for report in reports])
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Feed", "Loadable", "Duplicates", "Refused", "Quarantined", "Newest timestamp"):
        shown.add_column(name, justify="left" if name in {"Feed", "Newest timestamp"} else "right")
    for report in reports:
        files = report.files
        loadable = files.get(FileState.READY, 0) + files.get(FileState.PUNCTUATION, 0)
        latest = "–" if report.latest_timestamp is None else format_instant(report.latest_timestamp)
        others = (files.get(state, 0) for state in (FileState.DUPLICATE, FileState.REFUSED, FileState.QUARANTINED))
        shown.add_row(report.name, str(loadable), *(str(count or "–") for count in others), latest)
    console.print(shown)
    for report in reports:
        for fault in report.faults:
            console.print(f"[yellow]●[/yellow] {escape(fault)}", soft_wrap=True)
        for file in report.troubled:
            console.print(f"[yellow]●[/yellow] {escape(file.path)} is {file.state}", soft_wrap=True)
            console.print(f"  [dim]{escape(file.reason or '')}[/dim]", soft_wrap=True)


@app.command()
def retry(
    files: Annotated[list[str] | None, typer.Argument(help="Paths of quarantined files.", show_default="all")] = None,
    project: ProjectOption = HERE,
    feed: Annotated[str | None, typer.Option(help="Only files of this feed.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Take up quarantined files again, after they or the feed's declaration have been mended."""
    with looking_at(project) as (_, catalog):
        known = catalog.files.in_state(FileState.QUARANTINED, feed=feed)
    chosen = [file.path for file in known if not files or any(f"/{file.path}".endswith(f"/{name}") for name in files)]
    if files and not chosen:
        message = f"None of these is quarantined: {', '.join(files)}."
        raise RunFailedError(message, way_out="`freshtide feeds` lists them.")
    answers = {path: ask(project, RequestKind.RETRY, path) for path in chosen}
    if as_json:
        print_json(answers)
        return
    for answer in answers.values():
        console.print(escape(answer), soft_wrap=True)
    if not answers:
        console.print("Nothing is quarantined.")
