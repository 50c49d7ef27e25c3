"""pause, resume, backfill: asking a run for something, or doing it where none is going on."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from freshtide.catalog import Catalog, RequestKind, RunLock
from freshtide.cli.output import JsonOption, console, errors, print_json
from freshtide.cli.places import HERE, ProjectOption, looking_at
from freshtide.clock import SystemClock
from freshtide.core.errors import RunFailedError
from freshtide.observe import Places
from freshtide.project import Project

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
    """Have something done, by the run that is going on or by a short one of our own."""
    with looking_at(folder) as (project, catalog):
        if kind is not RequestKind.RETRY:
            target = project.graph[target].name
        if RunLock(Places(project).lock).holder() is not None:
            return _wait_for_answer(project, catalog, kind, target)
        if kind in {RequestKind.PAUSE, RequestKind.RESUME}:
            return _set_aside(catalog, kind, target)
    return _do_it_here(project, kind, target)


def _set_aside(catalog: Catalog, kind: RequestKind, table: str) -> str:
    """Nothing runs: what the next run finds in the catalog is all it takes."""
    status = "paused" if kind is RequestKind.PAUSE else "active"
    catalog.tables.put(replace(catalog.tables.get(table), status=status, reason=None))
    return f"'{table}' is {status}; the next run will find it so."


def _do_it_here(project: Project, kind: RequestKind, target: str) -> str:
    from freshtide.warehouse import Warehouse

    with _progress() as progress, Warehouse.of_project(project) as warehouse:
        progress.add_task(f"{kind} {target}", total=None)
        return warehouse.retry_file(target) if kind is RequestKind.RETRY else warehouse.backfill(target)


def _wait_for_answer(project: Project, catalog: Catalog, kind: RequestKind, target: str) -> str:
    clock = SystemClock()
    number = catalog.requests.add(kind, target, at=clock.now())
    tables = 1 + len(project.graph.dependents(target)) if kind is RequestKind.BACKFILL else 1
    with _progress() as progress:
        progress.add_task(f"{kind} {target}, {tables} table{'s' if tables > 1 else ''}", total=None)
        asked = clock.now()
        while True:
            request = catalog.requests.get(number)
            if request is not None and request.done:
                return request.message or "Done."
            if kind is not RequestKind.BACKFILL and clock.now() - asked > _ANSWER_WITHIN:
                raise RunFailedError(
                    "The run does not answer.", way_out="Is it still alive? `freshtide status` shows what it does."
                )
            time.sleep(0.1)


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
        console.print(message, soft_wrap=True)
    if "failed" in message:
        raise typer.Exit(1)
