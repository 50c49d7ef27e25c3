"""What a run would do now, and what can be promised to the tables: the plan is data.

Nothing is registered or changed by planning: folders are listed, the catalog is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from freshtide.catalog import Catalog, TableRow
from freshtide.core.arrivals import ArrivalState
from freshtide.core.cuts import Cuts
from freshtide.core.definitions import fingerprints
from freshtide.core.graph import TableGraph
from freshtide.core.steps import Outline, forward
from freshtide.core.tables import Table
from freshtide.observe import is_behind, kind_in_words
from freshtide.planning.bounds import Demand
from freshtide.planning.demands import Demands
from freshtide.planning.eagerness import EagerBound, eager_bound
from freshtide.planning.promises import Assurance, Promise, promises
from freshtide.planning.recovery import Recovery, recoveries
from freshtide.planning.remedies import Remedy, remedies
from freshtide.planning.unseen import unseen_files
from freshtide.project import Project
from freshtide.scheduling import Policy


class Work(StrEnum):
    """What a run would do with a table."""

    LOAD = "load"
    BACKFILL = "backfill"
    CATCH_UP = "catch up"
    NOTHING = "nothing"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Files that a table would load."""

    registered: int = 0
    unseen: int = 0
    """In the folders, and not looked into yet: some may turn out to be duplicates or unreadable."""
    bytes: int = 0
    rows: int = 0
    """Of an update table: single rows in its queue."""

    @property
    def files(self) -> int:
        return self.registered + self.unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table, what would be done with it, and what it can rely on."""

    table: Table
    level: int
    work: Work
    why: str
    waiting: Waiting
    utilisation: float | None
    """The share of a track that its updates keep busy on average; None for a table that does not take part."""
    cost_known_by: str | None
    promise: Promise | None
    remedy: Remedy | None
    recovery: Recovery | None = None
    """Of a base table that is behind: when it will have caught up."""

    @property
    def steps(self) -> tuple[Outline, ...]:
        """What a run would do with it, step by step."""
        return forward(self.table) if _moves(self.work) else ()

    @property
    def breaks_target(self) -> bool:
        return self.promise is not None and self.promise.verdict is Assurance.CANNOT_BE_KEPT

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "name": self.table.name,
            "kind": kind_in_words(self.table),
            "feed": self.table.feed,
            "sources": list(self.table.sources),
            "level": self.level,
            "period": self.table.period,
            "target_lag": self.table.target_lag,
            "work": str(self.work),
            "why": self.why,
            "steps": [asdict(step) for step in self.steps],
            "utilisation": self.utilisation,
            "cost_known_by": self.cost_known_by,
            "promise": None if self.promise is None else self.promise.as_json(),
            "remedy": None if self.remedy is None else self.remedy.as_json(),
            "recovery": None if self.recovery is None else self.recovery.as_json(),
        }
        if self.table.is_base:
            waiting = self.waiting
            shown["files"] = {"registered": waiting.registered, "unseen": waiting.unseen, "bytes": waiting.bytes}
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All tables, sources first."""

    name: str
    tracks: int
    tables: tuple[PlannedTable, ...]
    eager: EagerBound
    """How far an eager scheduler is from the best there can be, at most."""
    faults: tuple[str, ...] = ()
    """What kept folders from being looked at."""

    @property
    def utilisation(self) -> float:
        """How many tracks the tables keep busy on average."""
        return sum(table.utilisation or 0.0 for table in self.tables)

    @property
    def breaks_target(self) -> bool:
        return any(table.breaks_target for table in self.tables)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "tracks": self.tracks,
            "utilisation": self.utilisation,
            "kept": not self.breaks_target,
            "eager": self.eager.as_json(),
            "tables": [table.as_json() for table in self.tables],
            "faults": list(self.faults),
        }


def plan_of(project: Project, catalog: Catalog, now: float, *, demands: Demands, policy: Policy, tracks: int) -> Plan:
    """What a run would find to do, and what this scheduler could promise on so many tracks."""
    graph = project.graph
    rows = catalog.tables.all()
    unseen, faults = unseen_files(project, catalog, now)
    residents = {name: stream.residents for name, stream in catalog.streams.all().items()}
    waiting = {
        table.name: replace(
            _waiting(table, table.name in rows, catalog, unseen[table.feed]), rows=residents.get(table.name, 0)
        )
        for table in graph.values()
        if table.feed is not None
    }
    work = _Work(project, rows, waiting, set(demands.left_out)).of_all()
    promised, mended = promises(demands.units, policy, tracks), remedies(demands.units, policy, tracks)
    # A table that has never been loaded is not behind: its first backlog is loaded as a whole.
    loaded = {name for name, row in rows.items() if row.freshness is not None}
    backlog = {name: found.files for name, found in waiting.items() if name in loaded}
    recovering = recoveries(demands.units, policy, tracks, backlog)
    by_unit = {demand.unit: demand for demand in demands.units}
    tables = []
    for table in graph.values():
        demand = by_unit.get(graph.units.of(table.name))
        kind, why = work[table.name]
        tables.append(
            PlannedTable(
                table=table,
                level=graph.level(table.name),
                work=kind,
                why=why,
                waiting=waiting.get(table.name, Waiting()),
                utilisation=None if demand is None else _share(demand),
                cost_known_by=None if demand is None else demand.known_by,
                promise=promised.get(table.name),
                remedy=mended.get(table.name),
                recovery=recovering.get(table.name),
            )
        )
    return Plan(
        name=project.settings.name,
        tracks=tracks,
        tables=tuple(tables),
        eager=eager_bound(demands.units, policy, tracks),
        faults=faults,
    )


def _share(demand: Demand) -> float:
    return demand.utilisation / len(demand.target_lags)


def _waiting(table: Table, is_known: bool, catalog: Catalog, unseen: Mapping[str, int]) -> Waiting:
    # A table that no run has seen yet loads what its feed has brought before.
    registered = (
        catalog.arrivals.pending(table.name)
        if is_known
        else catalog.arrivals.in_state(ArrivalState.READY, feed=table.feed)
    )
    data = [file for file in registered if file.state is ArrivalState.READY]
    return Waiting(
        registered=len(data),
        unseen=len(unseen),
        bytes=sum(file.size for file in data if file.size > 0) + sum(unseen.values()),
    )


class _Work:
    """What there is to do with each table, sources first."""

    def __init__(
        self, project: Project, rows: Mapping[str, TableRow], waiting: Mapping[str, Waiting], left_out: set[str]
    ) -> None:
        self._graph: TableGraph = project.graph
        self._rows, self._waiting, self._left_out = rows, waiting, left_out
        self._definitions = fingerprints(project.graph)
        self._cuts = Cuts(project.graph)

    def of_all(self) -> dict[str, tuple[Work, str]]:
        found: dict[str, tuple[Work, str]] = {}
        for table in self._graph.values():
            found[table.name] = self._of(table, [source for source in table.sources if _moves(found[source][0])])
        return found

    def _of(self, table: Table, moving: list[str]) -> tuple[Work, str]:
        row = self._rows.get(table.name)
        if table.name in self._left_out:
            status = "active" if row is None else row.status
            return Work.LEFT_OUT, f"it is {status}" if status != "active" else "a source of it is left out"
        if table.made_by is not None:
            return Work.NOTHING, f"the flow '{table.made_by}' makes it"
        return _loading(table, self._waiting[table.name]) if table.is_base else self._refreshing(table, row, moving)

    def _refreshing(self, table: Table, row: TableRow | None, moving: list[str]) -> tuple[Work, str]:
        if row is None or row.freshness is None:
            has_data = moving or all(
                name in self._rows and self._rows[name].freshness is not None for name in table.sources
            )
            return (Work.BACKFILL, "never computed") if has_data else (Work.NOTHING, "no data yet")
        if row.definition not in {None, self._definitions[table.name]}:
            return Work.BACKFILL, "its definition has changed"
        safe = {name: known.safe for name, known in self._rows.items()}
        if moving or is_behind(table, row.freshness, safe, self._cuts):
            return Work.CATCH_UP, "its sources have moved on" if not moving else f"after {', '.join(moving)}"
        return Work.NOTHING, "it has caught up"


def _loading(table: Table, waiting: Waiting) -> tuple[Work, str]:
    if waiting.files:
        return Work.LOAD, f"{waiting.files} files wait"
    if waiting.rows:
        return Work.LOAD, f"{waiting.rows} rows wait"
    return Work.NOTHING, "no file waits" if not table.is_latest else "no update waits"


def _moves(work: Work) -> bool:
    return work in {Work.LOAD, Work.BACKFILL, Work.CATCH_UP}
