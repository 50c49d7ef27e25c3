"""run."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from freshtide.catalog import RunLock
from freshtide.cli.output import JsonOption, console, duration, errors, number_of, print_json
from freshtide.cli.places import HERE, ProjectOption, open_project
from freshtide.core.durations import parse_duration
from freshtide.runs import Places


def register(app: typer.Typer) -> None:
    app.command()(run)


def run(
    project: ProjectOption = HERE,
    once: Annotated[bool, typer.Option("--once", help="Load what is there, then end.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow the files of the project: what they say takes effect.")
    ] = False,
    length: Annotated[str | None, typer.Option("--for", help="End after this long, e.g. 10m.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Load what arrives and keep every table fresh, until Ctrl-C."""
    seconds = parse_duration(length) if length else None
    loaded = open_project(project)
    RunLock(Places(loaded).lock).require_free()
    from freshtide.cli.live import run_in_foreground
    from freshtide.warehouse import Warehouse

    if not as_json:
        errors.print(f"Starting Spark for [bold]{escape(loaded.settings.name)}[/bold] …")
    with Warehouse.of_project(loaded) as warehouse, warehouse.seen():
        report = run_in_foreground(warehouse, once=once, watch=watch, seconds=seconds, quiet=as_json)
        status = warehouse.status(looking_back=True)
    summary: dict[str, Any] = {"updates": report.updates, "failed": report.failed, **status.as_json()}
    if as_json:
        print_json(summary)
    else:
        from freshtide.cli.tables import print_objective, status_table

        console.print(status_table(status, width=console.width))
        print_objective(status)
        console.print(f"{number_of(report.updates, 'update')}.", end=" ")
        if status.trouble:
            console.print(f"[yellow]{status.trouble}: `freshtide feeds` tells why.[/yellow]", end="")
        console.print()
        for table, reason in report.failed.items():
            errors.print(f"[red]●[/red] '{table}' failed: {escape(reason)}", soft_wrap=True)
            errors.print(f"  [dim]Mend the cause, then `freshtide resume {table}`.[/dim]", soft_wrap=True)
        if report.failed:
            errors.print(f"[dim]{escape(str(Places(loaded).log))} tells where each failed.[/dim]", soft_wrap=True)
        waiting = [t.name for t in status.tables if t.freshness is None and t.status == "active"]
        if waiting:
            console.print(f"[dim]Without data so far: {', '.join(waiting)}.[/dim]", soft_wrap=True)
        if seconds is not None:
            console.print(f"[dim]Ran for {duration(seconds)}.[/dim]")
    if any(table.status == "failed" for table in status.tables):
        raise typer.Exit(1)
