"""pause, resume, backfill: asking a run for something, or doing it where none is going on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from freshtide.catalog import Catalog, RequestKind, RunLock
from freshtide.cli.output import JsonOption, console, errors, print_json
from freshtide.cli.places import HERE, ProjectOption, looking_at
from freshtide.clock import SystemClock
from freshtide.core.errors import RunFailedError
from freshtide.feeds import retry_everywhere, skip_everywhere, verdicts
from freshtide.observe import Places, require_rebuildable
from freshtide.project import Project

_ANSWER_WITHIN = 30.0
# Tables are rebuilt for these.
_TAKE_A_RUN = (RequestKind.BACKFILL, RequestKind.ACCEPT)


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
        if RunLock(Places(project).lock).holder() is not None:
            return _ask_the_run(project, catalog, kind, target)
        if kind is RequestKind.RETRY:
            return _retry_here(project, catalog, target)
        if kind is RequestKind.SKIP:
            return _skip_here(catalog, target)
        if kind not in _TAKE_A_RUN:
            return _set_aside(project, catalog, kind, target)
    return _run_here(project, kind, target)


def _ask_the_run(project: Project, catalog: Catalog, kind: RequestKind, target: str) -> str:
    number = catalog.requests.add(kind, target, at=SystemClock().now())
    tables = 1 + len(project.graph.dependents(target)) if kind is RequestKind.BACKFILL else 1
    with _progress() as progress:
        progress.add_task(f"{kind} {target}, {tables} table{'s' if tables > 1 else ''}", total=None)
        # A rebuild takes as long as it takes; anything else is a matter of the run's next look.
        longest = None if kind in _TAKE_A_RUN else _ANSWER_WITHIN
        request = catalog.requests.wait_for(number, longest=longest)
    if not request.succeeded:
        raise RunFailedError(request.message or f"{kind} {target} failed.")
    return request.message or "Done."


def _set_aside(project: Project, catalog: Catalog, kind: RequestKind, table: str) -> str:
    """Nothing runs: what the next run finds in the catalog is all it takes."""
    status = "paused" if kind is RequestKind.PAUSE else "active"
    others = project.graph.units.beside(table)
    for name in (table, *others):
        catalog.tables.put(replace(catalog.tables.get(name), status=status, reason=None))
    too = f", together with {', '.join(others)} of its update group" if others else ""
    return f"'{table}' is {status}{too}; the next run will find it so."


def _retry_here(project: Project, catalog: Catalog, path: str) -> str:
    """Look at the file again; the next run loads it if it is fine now."""
    again = retry_everywhere(path, project.feeds, catalog.files, SystemClock().now())
    catalog.files.register_all(
        [(file, tuple(table.name for table in project.graph.for_feed(file.feed))) for file in again]
    )
    return verdicts(again)


def _skip_here(catalog: Catalog, path: str) -> str:
    """Let the next run go on without the file."""
    skipped = skip_everywhere(path, catalog.files)
    for file in skipped:
        catalog.files.set_state(file.id, file.state, file.reason)
    return verdicts(skipped)


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
