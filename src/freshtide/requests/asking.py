"""Asking a warehouse for something, whether it is being run or not."""

from __future__ import annotations

from collections.abc import Callable

from freshtide.catalog import Catalog, Request, RequestKind, RunLock
from freshtide.core.arrivals import Arrival
from freshtide.core.errors import RunFailedError
from freshtide.project import Project
from freshtide.requests.handling import RequestHandler, require_own_updates, require_rebuildable
from freshtide.runs import Places, seen_run

# Tables are rebuilt for these, which takes as long as it takes.
_TAKES_A_RUN = (RequestKind.BACKFILL, RequestKind.ACCEPT)


def ask(
    project: Project,
    catalog: Catalog,
    kind: RequestKind,
    target: str,
    *,
    at: float,
    run: Callable[[int], None],
    longest: float | None = None,
) -> str:
    """Have something done: by the run that is going on, in the catalog, or where it takes one by a run for it alone.

    `run` is called for that with the number of the request, and is over when the request is done. A run that is going
    on answers within `longest` seconds, unless it has to rebuild something first.
    """
    if not kind.is_about_a_file:
        table = project.graph.called(target)
        require_own_updates(table, project.graph)
        target = table.name
    if kind is RequestKind.BACKFILL:
        # Nobody should wait for Spark, or for a run, to hear that it was in vain.
        require_rebuildable(catalog.tables.get(target))
    if _is_run(project):
        longest = None if kind in _TAKES_A_RUN else longest
        return ask_the_run(project, catalog, kind, target, at=at, longest=longest)
    if kind not in _TAKES_A_RUN:
        answer = _handler_at_rest(project, catalog, at).carry_out(kind, target)
        for number in answer.cancels:
            # A run that ended had begun with it, and nothing of what it wrote is part of the table.
            catalog.requests.finish(number, answer.message, succeeded=False)
        return answer.message
    number = catalog.requests.add(kind, target, at=at)
    run(number)
    return _answer(catalog.requests.wait_for(number))


def ask_the_run(
    project: Project,
    catalog: Catalog,
    kind: RequestKind,
    target: str,
    *,
    at: float,
    longest: float | None = None,
    taken_up_within: float | None = None,
) -> str:
    """Have something done by the run that is going on, or by one that is starting when it has; its answer."""
    number = catalog.requests.add(kind, target, at=at)
    request = catalog.requests.wait_for(
        number,
        longest=longest,
        taken_up_within=taken_up_within,
        going_on=lambda: _is_run(project) or seen_run(project.root) is not None,
        starting=lambda: is_starting(project),
    )
    return _answer(request)


def is_starting(project: Project) -> bool:
    """Whether a run has read the project and does not work yet."""
    run = seen_run(project.root)
    return run is not None and not run.is_at_work


def _answer(request: Request) -> str:
    if not request.succeeded:
        raise RunFailedError(request.message or f"{request.kind} {request.target} failed.")
    return request.message or "Done."


def _is_run(project: Project) -> bool:
    return RunLock(Places(project).lock).holder() is not None


def _handler_at_rest(project: Project, catalog: Catalog, at: float) -> RequestHandler:
    def register(files: list[Arrival]) -> None:
        catalog.arrivals.register_all([(file, project.graph.readers(file.feed)) for file in files])

    return RequestHandler(project.feeds, project.graph, catalog, register=register, clock=lambda: at)
