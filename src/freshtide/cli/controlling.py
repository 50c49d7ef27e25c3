"""pause, resume, backfill: asking a run for something, or doing it where none is going on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from freshtide.catalog import RequestKind
from freshtide.cli.output import JsonOption, console, errors, print_json
from freshtide.cli.places import HERE, ProjectOption, looking_at
from freshtide.project import Project
from freshtide.requests import ask as ask_warehouse
from freshtide.world import SystemClock

_ANSWER_WITHIN = 30.0


def register(app: typer.Typer) -> None:
    for command in (pause, resume, backfill):
        app.command()(command)


def pause(table: str, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Stop updating a table until it is resumed; its dependents wait with it."""
    _tell(ask(project, RequestKind.PAUSE, table), as_json)


def resume(table: str, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Let a paused or failed table take part again."""
    _tell(ask(project, RequestKind.RESUME, table), as_json)


def backfill(
    table: str,
    project: ProjectOption = HERE,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Do not go on with a backfill of the table: it stays as it is.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compute a table anew from its sources or files, and then everything that depends on it."""
    _tell(ask(project, RequestKind.CANCEL if cancel else RequestKind.BACKFILL, table), as_json)


def ask(folder: Path, kind: RequestKind, target: str) -> str:
    """Have something done, by the run that is going on or here."""
    with looking_at(folder) as (project, catalog), _progress() as progress:
        progress.add_task(_told(project, kind, target), total=None)

        def run(number: int) -> None:
            from freshtide.warehouse import Warehouse

            with Warehouse.of_project(project) as warehouse:
                warehouse.run(until=lambda: catalog.requests.is_done(number))

        at = SystemClock().now()
        return ask_warehouse(project, catalog, kind, target, at=at, run=run, longest=_ANSWER_WITHIN)


def _told(project: Project, kind: RequestKind, target: str) -> str:
    if kind is not RequestKind.BACKFILL:
        return f"{kind} {target}"
    tables = 1 + len(project.graph.dependents(project.graph.called(target).name))
    return f"{kind} {target}, {tables} table{'s' if tables > 1 else ''}"


def _progress() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )


def _tell(message: str, as_json: bool) -> None:
    if as_json:
        print_json({"message": message})
    else:
        console.print(escape(message), soft_wrap=True)
