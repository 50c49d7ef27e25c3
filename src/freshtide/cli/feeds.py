"""feeds: what arrived, what is in trouble, and taking it up again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from freshtide.catalog import RequestKind
from freshtide.cli.controlling import ask
from freshtide.cli.output import JsonOption, console, duration, on_one_line, print_json
from freshtide.cli.places import HERE, ProjectOption, looking_at, looking_on
from freshtide.core.arrivals import LOADABLE, ArrivalState
from freshtide.core.errors import RunFailedError, UsageError, suggestion
from freshtide.core.instants import format_instant
from freshtide.feeds import CHANGED, PUT_ASIDE
from freshtide.observe import FeedHealth, FeedReport, HealthState, feed_healths, outage_story, warehouse_status
from freshtide.world import SystemClock

_COLOURS = {
    HealthState.HEALTHY: "green",
    HealthState.UNHEALTHY: "yellow",
    HealthState.OUTAGE: "red",
    HealthState.UNKNOWN: "dim",
}

# Beside those that can be loaded.
_COUNTED = {
    "Away": ArrivalState.AWAY,
    "Duplicates": ArrivalState.DUPLICATE,
    "Refused": ArrivalState.REFUSED,
    "Quarantined": ArrivalState.QUARANTINED,
}

app = typer.Typer(help="Show the feeds and what is wrong with their files.", invoke_without_command=True)


@app.callback()
def feeds(context: typer.Context, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Show the feeds: files by state, why some are in trouble, whether each delivers as it should, and outages."""
    if context.invoked_subcommand is not None:
        return
    with looking_on(project) as sight:
        loaded, catalog, going_on = sight.project, sight.catalog, sight.goes_on
        now = SystemClock().now()
        reports = warehouse_status(loaded, catalog, now, run_going_on=going_on).feeds
        healths = feed_healths(loaded, catalog, now, run_going_on=going_on)
    if as_json:
        print_json(feeds_json(reports, healths))
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in (
        "Feed",
        "Health",
        "Period",
        "Loadable",
        "Away",
        "Duplicates",
        "Refused",
        "Quarantined",
        "Newest timestamp",
    ):
        shown.add_column(name, justify="left" if name in {"Feed", "Health", "Newest timestamp"} else "right")
    for report in reports:
        files = report.files
        loadable = sum(files.get(state, 0) for state in LOADABLE)
        latest = "–" if report.latest_timestamp is None else format_instant(report.latest_timestamp)
        others = (files.get(state, 0) for state in _COUNTED.values())
        health = healths[report.name]
        state = f"[{_COLOURS[health.state]}]{health.state}[/{_COLOURS[health.state]}]"
        period = duration(health.rhythm.rhythm.period if health.rhythm else None)
        shown.add_row(report.name, state, period, str(loadable), *(str(count or "–") for count in others), latest)
    console.print(shown)
    for report in reports:
        for fault in report.faults:
            console.print(f"[yellow]●[/yellow] {escape(fault)}", soft_wrap=True)
        for file in report.troubled:
            console.print(f"[yellow]●[/yellow] {escape(on_one_line(file.position))} is {file.state}", soft_wrap=True)
            console.print(f"  [dim]{escape(file.reason or '')}[/dim]", soft_wrap=True)
    for health in healths.values():
        for sentence in _health_story(health, now, run_going_on=going_on):
            console.print(sentence, soft_wrap=True)
    if not going_on:
        console.print("[dim]No run is going on: whether feeds are healthy is known while one looks for files.[/dim]")


def feeds_json(reports: Iterable[FeedReport], healths: Mapping[str, FeedHealth]) -> list[dict[str, Any]]:
    return [{**report.as_json(), "health": healths[report.name].as_json()} for report in reports]


def _health_story(health: FeedHealth, now: float, *, run_going_on: bool) -> Iterator[str]:
    if health.sentence is not None:
        yield f"[yellow]●[/yellow] {escape(health.sentence)}"
    elif run_going_on and health.healthy is None:
        yield f"[dim]Whether '{escape(health.feed)}' is healthy is not known: {escape(health.reason or '')}.[/dim]"
    if health.last_outage is not None:
        yield f"[dim]{escape(outage_story(health.feed, health.last_outage, now))}[/dim]"


FilesArgument = Annotated[list[str], typer.Argument(help="Paths of files, or the ends of them.")]


@app.command()
def retry(
    files: Annotated[list[str] | None, typer.Argument(help="Paths of quarantined files.", show_default="all")] = None,
    project: ProjectOption = HERE,
    feed: Annotated[str | None, typer.Option(help="Only files of this feed.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Take up quarantined or skipped files again, after they or the feed's declaration have been mended."""
    states = PUT_ASIDE if files else (ArrivalState.QUARANTINED,)
    _ask_for_each(project, RequestKind.RETRY, files or [], states, feed=feed, as_json=as_json)


@app.command()
def skip(files: FilesArgument, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Go on without files that are away; `retry` takes them up again."""
    _ask_for_each(project, RequestKind.SKIP, files, (ArrivalState.AWAY,), as_json=as_json)


@app.command()
def accept(files: FilesArgument, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Take files with the content that they have now: it replaces the old in all tables and views."""
    _ask_for_each(project, RequestKind.ACCEPT, files, CHANGED, as_json=as_json)


def _ask_for_each(
    project: Path,
    kind: RequestKind,
    files: Sequence[str],
    states: Sequence[ArrivalState],
    *,
    feed: str | None = None,
    as_json: bool,
) -> None:
    """Ask for something for those of the files in these states that are named, or for all of them."""
    with looking_at(project) as (declared, catalog):
        if feed is not None and feed not in declared.feeds:
            raise UsageError(f"There is no feed '{feed}'.", way_out=suggestion(feed, declared.feeds))
        known = dict.fromkeys(file.position for file in catalog.arrivals.in_state(*states, feed=feed))
    chosen = [path for path in known if not files or any(f"/{path}".endswith(f"/{name}") for name in files)]
    named = " or ".join(states)
    if files and not chosen:
        message = f"None of these is {named}: {', '.join(files)}."
        raise RunFailedError(message, way_out="`freshtide feeds` lists them.")
    answers = {path: ask(project, kind, path) for path in chosen}
    if as_json:
        print_json(answers)
        return
    for answer in answers.values():
        console.print(escape(on_one_line(answer)), soft_wrap=True)
    if not answers:
        console.print(f"Nothing is {named}.")
