"""After a start: the catalog is made to agree with the Delta logs, which are the truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freshtide.catalog import Catalog, TableRow, UpdateStreamRow
from freshtide.core.files import FeedFile, FileState
from freshtide.core.graph import TableGraph
from freshtide.core.instants import seconds
from freshtide.core.sides import LATE, sides
from freshtide.core.tables import Table
from freshtide.storage import LoadedFile, Store, UpdateKind, UpdateRecord

_COUNTED = ("read", "loaded", "diverted", "rejected", "late", "superseded", "replaced")


def reconcile(graph: TableGraph, store: Store, catalog: Catalog, now: float) -> None:
    """Bring the catalog up to the logs, whether it is a crash behind or was lost altogether."""
    # Before anything is written: when the last run was still there is told by what it wrote last.
    catalog.outages.abandon(catalog.last_sign_of_life())
    catalog.updates.interrupt_running(now)
    catalog.prune(now)
    catalog.tables.forget_all_but(graph)
    streams = [table.name for table in graph.values() if table.is_base and table.updates is not None]
    catalog.streams.forget_all_but(streams)
    known = catalog.tables.all()
    for table in graph.values():
        row = known.get(table.name, TableRow(name=table.name))
        row = _caught_up(table, row, graph=graph, store=store, catalog=catalog, now=now)
        catalog.tables.put(row)
        if table.name in streams:
            catalog.streams.put(table.name, stream_row(row))
        if table.feed is not None:
            catalog.files.adopt(table.name, table.feed)


def catch_up(table: Table, *, graph: TableGraph, store: Store, catalog: Catalog, now: float) -> bool:
    """Book what has landed in a table while the run goes on; whether that changed rows which dependents may have used.

    The caller is the one that updates the table.
    """
    row = catalog.tables.get(table.name)
    revised = store.table(table.name).revised_since(row.number) is not None
    catalog.tables.put(_caught_up(table, row, graph=graph, store=store, catalog=catalog, now=now))
    return revised


def after_update(row: TableRow, record: UpdateRecord, version: int, *, took: float = 0.0) -> TableRow:
    """A table's row once an update of it has been committed."""
    counted = {} if record.kind is UpdateKind.REBUILD else row.counts
    found = {part: getattr(record.counts, part) for part in _COUNTED}
    return replace(
        row,
        number=record.number,
        version=version,
        freshness=None if record.freshness is None else seconds(record.freshness),
        safe=None if record.safe is None else seconds(record.safe),
        definition=record.definition,
        counts={name: counted.get(name, 0) + value for name, value in found.items()},
        updates=row.updates + 1,
        busy=row.busy + took,
    )


def stream_row(row: TableRow, **standing: Any) -> UpdateStreamRow:
    """How the stream of an update table stands; without more, nothing waits."""
    counted = {name: row.counts.get(name, 0) for name in ("superseded", "rejected")}
    return UpdateStreamRow(**counted, **standing)


def revised_views(graph: TableGraph, store: Store) -> set[str]:
    """Views that have not yet seen a revision of one of their sources."""
    found = set()
    for table in graph.values():
        snapshot = store.table(table.name, time_column=table.time_column).snapshot
        if table.is_base or snapshot is None or snapshot.record is None:
            continue
        for source in table.sources:
            seen = snapshot.record.sources.get(source, 0)
            if store.table(source).revised_since(seen) is not None:
                found.add(table.name)
    return found


def _caught_up(
    table: Table, row: TableRow, *, graph: TableGraph, store: Store, catalog: Catalog, now: float
) -> TableRow:
    stored = store.table(table.name, time_column=table.time_column)
    snapshot = stored.recover()
    landed = snapshot.number if snapshot else 0
    # The table may have been put back to an earlier state or thrown away, also while it was not declared and had no
    # row: what came after is to be done again.
    catalog.files.unload_after(table.name, landed)
    if landed < row.number:
        row = TableRow(name=table.name, status=row.status, reason=row.reason, cost=row.cost)
    for version, record in stored.records(after=row.version):
        if table.feed is not None:
            contents = {_file_id(table.feed, file, graph, catalog, now): file.sha256 for file in record.files}
            catalog.files.mark_loaded(table.name, contents, record.number, contents=contents)
        row = after_update(row, record, version)
    if table.is_base:
        for side in sides(table):
            beside = store.table(side, time_column=table.time_column if side.endswith(LATE) else None)
            beside.recover()
            beside.roll_back(landed, at=now)
    return row


def _file_id(feed: str, file: LoadedFile, graph: TableGraph, catalog: Catalog, now: float) -> int:
    """The catalog's id of a file that a commit names; a file it has forgotten is remembered again."""
    known = catalog.files.by_path(feed, file.path)
    if known is not None:
        return known.id
    remembered = FeedFile(
        feed=feed,
        path=file.path,
        sha256=file.sha256,
        size=-1,
        modified_ns=-1,
        arrived_at=now,
        state=FileState.PUNCTUATION if file.punctuation else FileState.READY,
        timestamp=file.timestamp,
        rows=file.rows,
    )
    return catalog.files.register(remembered, [table.name for table in graph.for_feed(feed)]).id
