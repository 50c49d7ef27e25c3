"""From where a command is typed to the project it is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from freshtide.catalog import Catalog, RunLock
from freshtide.cli.output import console, duration, number_of
from freshtide.core.errors import ProjectError
from freshtide.core.instants import format_instant
from freshtide.project import Changes, Project, find_project, load_project
from freshtide.runs import Places, SeenRun, seen_run, unapplied
from freshtide.world import SystemClock

ProjectOption = Annotated[
    Path, typer.Option("--project", "-p", help="A folder of the project.", show_default="this folder")
]
HERE = Path()
_MOST_NAMED = 5


def open_project(folder: Path) -> Project:
    return load_project(find_project(folder))


@contextmanager
def looking_at(folder: Path, *, opened: Callable[[str], Catalog] = Catalog.open) -> Iterator[tuple[Project, Catalog]]:
    """The project and its catalog, to read from; with `Catalog.peek` none is created where there is none yet."""
    with _catalog_of(open_project(folder), opened) as found:
        yield found


@contextmanager
def _catalog_of(project: Project, opened: Callable[[str], Catalog]) -> Iterator[tuple[Project, Catalog]]:
    catalog = opened(Places(project).catalog_url)
    try:
        yield project, catalog
    finally:
        catalog.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A warehouse as it runs, and what of it is not as one may think."""

    project: Project
    """As the run has it that goes on; without one, as the files are."""
    catalog: Catalog
    goes_on: bool
    starting: SeenRun | None = None
    unapplied: Changes | ProjectError | None = None
    """What the files say otherwise than the run."""
    died: str | None = None
    """That the last run has, and what it was doing."""

    @property
    def sentences(self) -> Iterator[str]:
        if self.starting is not None:
            yield f"A run is starting ({self.starting}): nothing is updated yet."
        if self.died is not None:
            yield self.died
        match self.unapplied:
            case Changes(items=items) as changes:
                told = "; ".join(map(str, items[:_MOST_NAMED])) + "; …" * (len(items) > _MOST_NAMED)
                verb = "is" if len(items) == 1 else "are"
                yield (
                    f"{number_of(len(changes.items), 'edit')} of the project {verb} not applied, and the run goes on "
                    f"without: {told}. `freshtide apply` lets what the files say take effect."
                )
            case ProjectError(problems=problems):
                yield (
                    f"The files of the project have {number_of(len(problems), 'problem')}, and the run goes on with "
                    "what they were: `freshtide validate` tells."
                )

    def as_json(self) -> dict[str, Any]:
        state = "going on" if self.goes_on else "starting" if self.starting else "died" if self.died else "none"
        changes = self.unapplied
        edits = [str(change) for change in changes] if isinstance(changes, Changes) else []
        problems = [str(problem) for problem in changes.problems] if isinstance(changes, ProjectError) else []
        return {"state": state, "told": list(self.sentences), "unapplied": edits, "problems": problems}


@contextmanager
def looking_on(folder: Path) -> Iterator[Sight]:
    """The warehouse of a project, by what it runs with."""
    root = find_project(folder)
    run = seen_run(root)
    at_work = run.project if run is not None and run.is_at_work else None
    with _catalog_of(at_work or load_project(root), Catalog.open) as (project, catalog):
        lock = RunLock(Places(project).lock)
        goes_on = lock.holder() is not None
        yield Sight(
            project=project,
            catalog=catalog,
            goes_on=goes_on,
            starting=None if goes_on or run is None or run.is_at_work else run,
            unapplied=None if run is None or at_work is None else unapplied(run, at_work),
            died=None if goes_on else _died(lock, catalog),
        )


def print_sight(sight: Sight) -> None:
    for sentence in sight.sentences:
        console.print(f"[yellow]●[/yellow] {escape(sentence)}", soft_wrap=True)


def _died(lock: RunLock, catalog: Catalog) -> str | None:
    found = lock.died()
    if found is None:
        return None
    ago = duration(max(0.0, SystemClock().now() - found.seen_at))
    seen = format_instant(math.floor(found.seen_at))
    told = f"The last run, {found.holder}, has died: it was last seen at {seen}, {ago} ago."
    tables = sorted({update.table for update in catalog.updates.running()})
    if tables:
        verb = "was" if len(tables) == 1 else "were"
        told += f" {number_of(len(tables), 'update')} {verb} interrupted: {', '.join(tables)}."
    return f"{told} Nothing is lost: `freshtide run` goes on from there."
