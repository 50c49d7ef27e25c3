"""How the tables of a project stand at a moment, for a simulation that begins then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.core.arrivals import ArrivalState
from freshtide.core.costs import Cost
from freshtide.core.tables import Table
from freshtide.planning.unseen import unseen_files
from freshtide.project import Project
from freshtide.runs import ArrivalPattern, beginning_of
from freshtide.scheduling import ScheduledTable
from freshtide.simulation import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a table stands, and what its scheduler has learnt of its cost."""

    standing: Standing
    learnt: Cost
    """Of its update group, if it is in one."""


def starts(project: Project, catalog: Catalog, patterns: Mapping[str, ArrivalPattern], now: float) -> dict[str, Start]:
    """What the next run would begin with, by table; moments are counted from now.

    Files that have landed and that no run has seen wait as well: they are taken to be stamped in the feed's rhythm.
    """
    begun = {unit.name: unit for unit in beginning_of(project, catalog).tables}
    unseen, _ = unseen_files(project, catalog, now)
    known = catalog.tables.all()
    found = {}
    for table in project.graph.values():
        unit = begun[project.graph.units.of(table.name)]
        pending: set[float] = set()
        if table.feed is not None and table.feed in patterns:
            pending = _registered(table, table.feed, catalog, is_known=table.name in known)
            pending.update(_expected(patterns[table.feed], len(unseen[table.feed]), now))
        # Stamps from the future are of rows that are not loaded, or of a clock that is ahead.
        stamps = tuple(sorted(min(0.0, stamp - now) for stamp in pending))
        found[table.name] = Start(standing=_standing(unit, stamps, now), learnt=unit.cost)
    return found


def _standing(unit: ScheduledTable, pending: tuple[float, ...], now: float) -> Standing:
    return Standing(
        freshness=None if unit.freshness is None else min(0.0, unit.freshness - now),
        safe=None if unit.safe is None else min(0.0, unit.safe - now),
        pending=pending,
        paused=unit.paused,
        failed=unit.failed,
    )


def _registered(table: Table, feed: str, catalog: Catalog, *, is_known: bool) -> set[float]:
    # A table that no run has seen yet loads what its feed has brought before.
    stamps = (
        catalog.arrivals.pending_stamps(table.name)
        if is_known
        else {file.timestamp for file in catalog.arrivals.in_state(ArrivalState.READY, feed=feed)}
    )
    return {catalog.arrivals.announced(stamp, feed) for stamp in stamps}


def _expected(pattern: ArrivalPattern, count: int, now: float) -> list[float]:
    """The time stamps of so many files after the newest one: a period apart, or closer if they would not fit."""
    newest = now - (count + 1) * pattern.period if pattern.newest is None else min(pattern.newest, now)
    distance = min(pattern.period, (now - newest) / max(1, count))
    return [newest + number * distance for number in range(1, count + 1)]
