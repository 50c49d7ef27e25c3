"""The scheduler as it stands at this moment, rebuilt from the catalog for those who look on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, takewhile

from freshtide.catalog import Catalog, UpdateRow, UpdateStatus
from freshtide.core.events import DataArrived, TimerFired, UpdateFailed
from freshtide.project import Project
from freshtide.runs import beginning_of, reach_of, uniform_of
from freshtide.scheduling import Onlooker

_Happening = tuple[float, DataArrived | UpdateRow]
"""A moment, and the file that arrived or the update that started then."""


def scheduler_now(project: Project, catalog: Catalog, now: float, *, run_going_on: bool) -> Onlooker:
    """The scheduler in the midst of the run; without one, as the next run will find things."""
    beginning = beginning_of(project, catalog)
    scheduler = beginning.scheduler(Onlooker, uniform=uniform_of(beginning), reach=reach_of(project))
    happened: list[_Happening] = list(_arrivals(project, catalog))
    if run_going_on:
        updates = [*_failed(catalog, project.graph, beginning.retry.attempts - 1), *catalog.updates.running()]
        known = [update for update in updates if update.table in project.graph and update.track < beginning.tracks]
        happened += _in_order(known)
    # Each at its time: how long a table has been waiting decides under FIFO, and an update took what was there then.
    for moment, what in sorted(happened, key=lambda happening: happening[0]):
        if isinstance(what, UpdateRow):
            _start(scheduler, project.graph.units.of(what.table), what, moment, now)
        else:
            scheduler.apply([what], moment)
    scheduler.apply([TimerFired()], now)
    return scheduler


def _in_order(updates: Iterable[UpdateRow]) -> Iterator[_Happening]:
    """Updates with their moments: none starts before one that was started before it, whatever became of the clock."""
    started = sorted(updates, key=lambda update: update.id)
    return zip(accumulate((update.started_at for update in started), max), started, strict=True)


def _start(scheduler: Onlooker, unit: str, update: UpdateRow, moment: float, now: float) -> None:
    scheduler.apply([], moment)
    scheduler.is_running(unit, update.track, upto=update.upto, rebuild=update.kind == "rebuild")
    if update.finished_at is not None:
        failed = UpdateFailed(table=unit, track=update.track, reason=update.error or "")
        # What failed later than now did so before the clock was set back: it waits from now on at the longest.
        scheduler.apply([failed], min(update.finished_at, now))


def _arrivals(project: Project, catalog: Catalog) -> Iterator[tuple[float, DataArrived]]:
    rows = catalog.tables.all()
    for name, stream in catalog.streams.all().items():
        if name in project.graph and stream.pending_since is not None:
            # How the rows are stamped that wait in a queue only the run knows, and it plays no part.
            freshness = rows[name].freshness if name in rows else None
            stamp = stream.pending_since if freshness is None else freshness
            yield stream.pending_since, DataArrived(table=project.graph.units.of(name), timestamp=stamp)
    for table in project.graph.values():
        if table.is_base:
            for file in catalog.arrivals.pending(table.name):
                timestamp = catalog.arrivals.announced(file.timestamp, file.feed)
                yield file.arrived_at, DataArrived(table=project.graph.units.of(table.name), timestamp=timestamp)


def _failed(catalog: Catalog, tables: Iterable[str], most: int) -> Iterator[UpdateRow]:
    """The last updates of each table that is still tried, as far back as they failed."""
    rows = catalog.tables.all()
    for name in tables:
        if name in rows and rows[name].failures and rows[name].status == "active":
            recent = catalog.updates.recent(name, most + 1)
            ended = [update for update in recent if update.status is not UpdateStatus.RUNNING and _counts(update)]
            yield from list(takewhile(lambda update: update.status is UpdateStatus.FAILED, ended))[:most]


def _counts(update: UpdateRow) -> bool:
    """Whether an update says something about its table: one that the surroundings interrupted does not."""
    return update.status is not UpdateStatus.INTERRUPTED or update.error is None
