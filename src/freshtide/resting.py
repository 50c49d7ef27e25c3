"""What is asked of a warehouse that nobody runs: done in its catalog, where the next run finds it, without Spark."""

from __future__ import annotations

from dataclasses import replace

from freshtide.catalog import Catalog, RequestKind, RunLock
from freshtide.core.errors import RunFailedError
from freshtide.feeds import retry_everywhere, skip_everywhere, verdicts
from freshtide.project import Project
from freshtide.runs import Places

# Tables are rebuilt for these.
TAKES_A_RUN = (RequestKind.BACKFILL, RequestKind.ACCEPT)


def is_run(project: Project) -> bool:
    return RunLock(Places(project).lock).holder() is not None


def ask_the_run(
    project: Project, catalog: Catalog, kind: RequestKind, target: str, *, at: float, longest: float | None = None
) -> str:
    """Have something done by the run that is going on; its answer."""
    number = catalog.requests.add(kind, target, at=at)
    request = catalog.requests.wait_for(number, longest=longest, going_on=lambda: is_run(project))
    if not request.succeeded:
        raise RunFailedError(request.message or f"{kind} {target} failed.")
    return request.message or "Done."


def do_at_rest(project: Project, catalog: Catalog, kind: RequestKind, target: str, *, at: float) -> str:
    """Do what is asked in the catalog; what has come of it."""
    match kind:
        case RequestKind.RETRY:
            return _retry_file(project, catalog, target, at)
        case RequestKind.SKIP:
            return _skip_file(catalog, target)
        case _:
            return _set_aside(project, catalog, kind, target)


def _set_aside(project: Project, catalog: Catalog, kind: RequestKind, table: str) -> str:
    """Pause or resume a table, with the others of its update group."""
    others = project.graph.units.beside(table)
    status = "paused" if kind is RequestKind.PAUSE else "active"
    for name in (table, *others):
        catalog.tables.put(replace(catalog.tables.get(name), status=status, reason=None))
    is_so = "is paused" if kind is RequestKind.PAUSE else "takes part again"
    too = ", ".join(f"'{other}'" for other in others)
    return f"'{table}' {is_so}" + (f", together with {too} of its update group." if others else ".")


def _retry_file(project: Project, catalog: Catalog, path: str, at: float) -> str:
    """Look at a quarantined file again; the next run loads it if it is fine now."""
    again = retry_everywhere(path, project.feeds, catalog.files, at)
    catalog.files.register_all(
        [(file, tuple(table.name for table in project.graph.for_feed(file.feed))) for file in again]
    )
    return verdicts(again)


def _skip_file(catalog: Catalog, path: str) -> str:
    """Let the next run go on without the file."""
    skipped = skip_everywhere(path, catalog.files)
    for file in skipped:
        catalog.files.set_state(file.id, file.state, file.reason)
    return verdicts(skipped)
