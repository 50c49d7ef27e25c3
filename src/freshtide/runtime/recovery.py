"""After a start: the catalog is made to agree with the Delta logs, which are the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from freshtide.catalog import Catalog, TableRow
from freshtide.core.graph import TableGraph
from freshtide.core.sides import LATE, sides
from freshtide.core.tables import Kind, Table
from freshtide.runtime.booking import caught_up, stream_row
from freshtide.storage import Store


def reconcile(graph: TableGraph, store: Store, catalog: Catalog, now: float) -> None:
    """Bring the catalog up to the logs, whether it is a crash behind or was lost altogether."""
    # Before anything is written: when the last run was still there is told by what it wrote last.
    catalog.outages.abandon(catalog.last_sign_of_life())
    catalog.updates.interrupt_running(now)
    catalog.prune(now)
    catalog.tables.forget_all_but(graph)
    catalog.streams.forget_all_but([table.name for table in graph.values() if table.kind is Kind.LATEST])
    bring_up(graph, graph, known=catalog.tables.all(), store=store, catalog=catalog, now=now)


def bring_up(
    names: Iterable[str],
    graph: TableGraph,
    *,
    known: Mapping[str, TableRow],
    store: Store,
    catalog: Catalog,
    now: float,
) -> None:
    """Bring the rows of some tables up to their logs, and let base tables hear of the files that their feeds have."""
    for table in (graph[name] for name in names):
        before = known.get(table.name, TableRow(name=table.name, since=now))
        row = _recovered(table, before, graph=graph, store=store, catalog=catalog, now=now)
        if row != before or table.name not in known:
            catalog.tables.put(row)
        if table.kind is Kind.LATEST:
            catalog.streams.put(table.name, stream_row(row))
        if table.feed is not None:
            catalog.arrivals.adopt(table.name, table.feed)


def time_columns_of(tables: Iterable[Table]) -> dict[str, str | None]:
    """The time columns of tables and of what is kept beside them."""
    found: dict[str, str | None] = {}
    for table in tables:
        found[table.name] = table.time_column
        if table.is_base:
            found[table.name + LATE] = table.time_column
    return found


def revised_views(graph: TableGraph, store: Store) -> set[str]:
    """Views that have not yet seen a revision of one of their sources."""
    found = set()
    for table in graph.values():
        snapshot = store.table(table.name, time_column=table.time_column).snapshot
        if not table.is_derived or snapshot is None or snapshot.record is None:
            continue
        for source in table.sources:
            seen = snapshot.record.sources.get(source, 0)
            if store.table(source).revised_since(seen) is not None:
                found.add(table.name)
    return found


def _recovered(
    table: Table, row: TableRow, *, graph: TableGraph, store: Store, catalog: Catalog, now: float
) -> TableRow:
    snapshot = store.recovered(table.name, time_column=table.time_column).snapshot
    landed = snapshot.number if snapshot else 0
    # The table may have been put back to an earlier state or thrown away, also while it was not declared and had no
    # row: what came after is to be done again.
    if table.flow is None:
        catalog.arrivals.unload_after(table.name, landed)
    if landed < row.number:
        known = TableRow(name=table.name, status=row.status, reason=row.reason, cost=row.cost, since=row.since)
        # Loaded once more, files would be in the other targets of a flow twice. So they stay booked, and the table
        # keeps its place, until all that ever arrived has gone through the flow anew.
        row = known if table.flow is None else replace(known, freshness=row.freshness, safe=row.safe)
    row = caught_up(table, row, graph=graph, store=store, catalog=catalog, now=now)
    if table.is_base:
        for side in sides(table):
            beside = store.recovered(side, time_column=table.time_column if side.endswith(LATE) else None)
            beside.roll_back(landed, at=now)
    for state in snapshot.record.states if snapshot is not None and snapshot.record is not None else ():
        store.recovered(state).roll_back(landed, at=now)
    return row
