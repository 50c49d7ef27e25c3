"""Keeping the books: what the catalog says of a table after updates have landed, as their commits tell it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from freshtide.catalog import Catalog, LatestStreamRow, TableRow
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.errors import FreshtideError
from freshtide.core.graph import TableGraph
from freshtide.core.instants import seconds
from freshtide.core.tables import Table
from freshtide.storage import LoadedArrival, Store, UpdateKind, UpdateRecord


class GoneBackError(FreshtideError):
    """A table that has fewer updates than were booked: somebody has changed its folder under the run."""

    def __init__(self, folder: Path, *, landed: int, booked: int) -> None:
        super().__init__(
            f"{folder} has been removed or replaced while the run went on: it holds {landed} of {booked} updates.",
            way_out="End this run and start another: it loads what is missing.",
        )


def catch_up(
    table: Table, row: TableRow, *, graph: TableGraph, store: Store, catalog: Catalog, now: float
) -> bool | None:
    """Book what has landed in a table while the run goes on: nobody could tell, or the catalog could not be written.

    `row` is what is booked. Whether that changed rows which dependents may have used; None: all was booked. The caller
    updates the table.
    """
    stored = store.table(table.name, time_column=table.time_column)
    landed = 0 if stored.snapshot is None else stored.snapshot.number
    if landed < row.number:
        # Updates that now came would have the numbers of those that are lost, and pass for them.
        raise GoneBackError(stored.folder, landed=landed, booked=row.number)
    if landed == row.number:
        return None
    revised = stored.revised_since(row.number) is not None
    catalog.tables.advance(caught_up(table, row, graph=graph, store=store, catalog=catalog, now=now))
    return revised


def after_update(row: TableRow, record: UpdateRecord, version: int, *, took: float | None = None) -> TableRow:
    """A table's row once an update of it has been committed; None: nobody knows how long it `took`."""
    counted = {} if record.kind is UpdateKind.REBUILD else row.counts
    return replace(
        _standing_at(row, record, version),
        counts={part: counted.get(part, 0) + value for part, value in record.counts.parts().items()},
        updates=row.updates + 1,
        busy=row.busy + (took or 0.0),
        timed=row.timed + (took is not None),
    )


def caught_up(
    table: Table, row: TableRow, *, graph: TableGraph, store: Store, catalog: Catalog, now: float
) -> TableRow:
    """A table's row after all updates that have landed, whether they were booked or not; their files are loaded."""
    history = store.table(table.name, time_column=table.time_column).history()
    if history is None:
        return row
    book = _Booking(table, graph, catalog, now)
    before = history.before()
    if row.version < before.version and before.last is not None:
        # What these updates loaded is told by nothing else any more.
        for number, files in groupby(history.loaded_before(), key=itemgetter(0)):
            book.loaded((file for _, file in files), number)
        row = replace(
            _standing_at(row, before.last, before.version), counts=dict(before.counts), updates=before.updates
        )
    for version, record in history.oldest_first(after=row.version):
        book.loaded(record.arrivals, record.number)
        row = after_update(row, record, version)
    return row


def stream_row(row: TableRow, **standing: Any) -> LatestStreamRow:
    """How the stream of an update table stands; without more, nothing waits."""
    counted = {name: row.counts.get(name, 0) for name in ("superseded", "rejected")}
    return LatestStreamRow(**counted, **standing)


def _standing_at(row: TableRow, record: UpdateRecord, version: int) -> TableRow:
    return replace(
        row,
        number=record.number,
        version=version,
        freshness=None if record.freshness is None else seconds(record.freshness),
        safe=None if record.safe is None else seconds(record.safe),
        definition=record.definition,
    )


@dataclass(frozen=True, slots=True)
class _Booking:
    """Notes in the catalog which files a table has loaded, as its commits name them."""

    table: Table
    graph: TableGraph
    catalog: Catalog
    now: float

    def loaded(self, files: Iterable[LoadedArrival], number: int) -> None:
        if self.table.feed is None:
            return
        contents = {self._id(self.table.feed, file): file.digest for file in files}
        self.catalog.arrivals.mark_loaded(self.table.name, contents, number, contents=contents)

    def _id(self, feed: str, file: LoadedArrival) -> int:
        """The catalog's id of a file that a commit names; a file it has forgotten is remembered again.

        So is one of which it knows no content, because it could not be read here: the commit knows it.
        """
        known = self.catalog.arrivals.by_path(feed, file.position)
        if known is not None and known.digest:
            return known.id
        remembered = Arrival(
            feed=feed,
            position=file.position,
            digest=file.digest,
            size=-1,
            modified_ns=-1,
            arrived_at=self.now,
            state=ArrivalState.PUNCTUATION if file.punctuation else ArrivalState.READY,
            timestamp=file.timestamp,
            rows=file.rows,
        )
        return self.catalog.arrivals.register(remembered, self.graph.readers(feed)).id
