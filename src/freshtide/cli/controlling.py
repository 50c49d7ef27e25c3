"""pause, resume, backfill: asking a run for something, or doing it where none is going on."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from freshtide.catalog import Catalog, RequestKind
from freshtide.cli.output import JsonOption, console, errors, print_json
from freshtide.cli.places import HERE, ProjectOption, looking_at
from freshtide.clock import SystemClock
from freshtide.project import Project
from freshtide.resting import TAKES_A_RUN, ask_the_run, do_at_rest, is_run
from freshtide.runs import require_rebuildable

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


def backfill(table: str, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Compute a table anew from its sources or files, and then everything that depends on it."""
    _tell(ask(project, RequestKind.BACKFILL, table), as_json)


def ask(folder: Path, kind: RequestKind, target: str) -> str:
    """Have something done, by the run that is going on or here."""
    with looking_at(folder) as (project, catalog):
        if not kind.is_about_a_file:
            target = project.graph[target].name
        if kind is RequestKind.BACKFILL:
            # Nobody should wait for Spark, or for a run, to hear that it was in vain.
            require_rebuildable(catalog.tables.get(target))
        if is_run(project):
            return _ask_the_run(project, catalog, kind, target)
        if kind not in TAKES_A_RUN:
            return do_at_rest(project, catalog, kind, target, at=SystemClock().now())
    return _run_here(project, kind, target)


def _ask_the_run(project: Project, catalog: Catalog, kind: RequestKind, target: str) -> str:
    tables = 1 + len(project.graph.dependents(target)) if kind is RequestKind.BACKFILL else 1
    with _progress() as progress:
        progress.add_task(f"{kind} {target}, {tables} table{'s' if tables > 1 else ''}", total=None)
        # A rebuild takes as long as it takes; anything else is a matter of the run's next look.
        longest = None if kind in TAKES_A_RUN else _ANSWER_WITHIN
        return ask_the_run(project, catalog, kind, target, at=SystemClock().now(), longest=longest)


def _run_here(project: Project, kind: RequestKind, target: str) -> str:
    from freshtide.warehouse import Warehouse

    with _progress() as progress, Warehouse.of_project(project) as warehouse:
        progress.add_task(f"{kind} {target}", total=None)
        return warehouse.backfill(target) if kind is RequestKind.BACKFILL else warehouse.accept_file(target)


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
