"""What belongs to each table, and what of that is lost.

To a base table belong the tables beside it and those that the flow which loads it writes: one update commits all of
them, and computing the table anew makes all of them anew. What should be there is told by the Delta logs, each by the
other, and by the catalog. It is looked for when a warehouse starts, by `doctor --deep` and by `status --counts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from freshtide.catalog import Catalog, TableRow
from freshtide.core.sides import GONE, LATE, OPEN, REJECTS, sides
from freshtide.core.tables import Table
from freshtide.flows import FlowGraph, written_recordsets
from freshtide.project import Project
from freshtide.storage import Snapshot, StorageError, Store

_COUNTED = {REJECTS: "rejected", LATE: "late", OPEN: "waiting", GONE: "gone"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A table on disk, and what it belongs to."""

    stored: str
    table: str | None
    """The table of the project that it is made anew with; None: it is written by runs of a flow alone."""
    flow: str | None = None
    """The flow that writes it."""

    @property
    def is_own(self) -> bool:
        return self.stored == self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something that should be in a table on disk and is not."""

    holding: Holding
    what: str

    @property
    def told(self) -> str:
        return f"'{self.holding.stored}' has lost {self.what}"


def holdings(project: Project) -> Iterator[Holding]:
    """All tables that a project has on disk; what belongs to a table comes after it."""
    loads = {table.flow: table.name for table in project.graph.values() if table.flow is not None}
    for table in project.graph.values():
        if table.made_by is not None:
            continue  # It belongs to its flow, which may write more than the project says.
        yield Holding(stored=table.name, table=table.name)
        for side in sides(table) if table.is_base else ():
            yield Holding(stored=side, table=table.name)
    for flow in project.flows.values():
        loaded = loads.get(flow.name)
        for name in _written(flow):
            if loaded is None or name.lower() != loaded.lower():
                yield Holding(stored=name, table=loaded, flow=flow.name)


class LossFinder:
    """Compares what is on disk with what should be."""

    def __init__(self, project: Project, catalog: Catalog, store: Store) -> None:
        self._project = project
        self._catalog = catalog
        self._store = store
        self._rows = catalog.tables.all()

    def find(self, wanted: Iterable[Holding]) -> Iterator[Loss]:
        """What these have lost. One that cannot be opened is an error, unless runs of a flow alone write it."""
        for holding in wanted:
            try:
                loss = self.lost(holding)
            except StorageError as error:
                if holding.table is not None:
                    raise
                loss = Loss(holding=holding, what=f"its content: {error.message}")
            if loss is not None:
                yield loss

    def lost(self, holding: Holding) -> Loss | None:
        """What a table on disk has lost, if anything."""
        what = self._lost(holding)
        return None if what is None else Loss(holding=holding, what=what)

    def _lost(self, holding: Holding) -> str | None:
        snapshot = self._store.table(holding.stored).snapshot
        gone = () if snapshot is None else snapshot.lost()
        if gone:
            return f"Parquet files, {len(gone)} of them"
        if holding.table is None:
            return None
        table = self._project.graph[holding.table]
        if holding.is_own:
            return self._lost_updates(table, snapshot)
        if holding.flow is not None:
            return self._lost_runs(holding.stored, table, snapshot)
        return self._lost_rows(holding.stored, table, snapshot)

    def _lost_updates(self, table: Table, snapshot: Snapshot | None) -> str | None:
        """A base table is behind what is booked, or behind what its flow has written beside it."""
        if not table.is_base:
            return None
        landed = snapshot.number if snapshot else 0
        flow = None if table.flow is None else self._project.flows[table.flow]
        written = [self._noted(name, "sources", table.name) for name in (() if flow is None else _written(flow))]
        missing = max([self._catalog.arrivals.last_load(table.name), *written]) - landed
        return f"its last updates, {missing} of them" if missing > 0 else None

    def _lost_runs(self, stored: str, table: Table, snapshot: Snapshot | None) -> str | None:
        """A target of a flow is behind where the table that the flow loads has seen it."""
        missing = self._noted(table.name, "targets", stored) - (snapshot.number if snapshot else 0)
        return f"what runs of its flow wrote, {missing} of them" if missing > 0 else None

    def _lost_rows(self, stored: str, table: Table, snapshot: Snapshot | None) -> str | None:
        """Fewer rows are beside a table than its updates have counted."""
        counted = _COUNTED.get(stored.removeprefix(table.name))
        if counted is None or table.feed is None or not self._project.feeds[table.feed].brings_files:
            return None
        row = self._rows.get(table.name, TableRow(name=table.name))
        missing = row.counts.get(counted, 0) - (snapshot.rows if snapshot else 0)
        return f"rows, {missing} of them" if missing > 0 else None

    def _noted(self, name: str, kind: Literal["sources", "targets"], other: str) -> int:
        """The number of another table that the last update of a table names; 0: it names none."""
        snapshot = self._store.table(name).snapshot
        noted: Mapping[str, int] = {} if snapshot is None or snapshot.record is None else getattr(snapshot.record, kind)
        return noted.get(other, 0)


def _written(flow: FlowGraph) -> list[str]:
    """The tables that a flow writes, each once."""
    targets = (target.table for node in flow for target in written_recordsets(node))
    return list(dict.fromkeys(name for name in targets if name is not None))
