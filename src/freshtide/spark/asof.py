"""Tables as of a cut: the heart of consistency.

The state of a derived table as of a cut is what its query gives over its sources as of that cut. Where the table is
stored at just that freshness it is read. Where it has moved on, its closed rows are read as they are and the open
ones are computed from its own sources as of the cut, and so on down to base tables, which only append.

Where rows supersede each other, in the table or below it, there is no earlier state to be told: such a table is read as
it is, and its commits name the updates of its sources that they are computed from.

Reference tables have no state as of a cut either. Each is pinned at one content, which all of an update takes: what a
view below holds with another content does not count, and is computed from its sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshtide.core.cuts import Cuts
from freshtide.core.errors import FreshtideError
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.spark.latest.newest import youngest_rows
from freshtide.spark.queries import evaluate_by_source
from freshtide.spark.reading import empty_frame, read_between, read_files, stamped_before, stamped_from
from freshtide.spark.rejects import REJECTS
from freshtide.spark.scans import SharedScans
from freshtide.spark.schemas import TableSchemas
from freshtide.storage import Snapshot, Store, UpdateRecord


class PastGoneError(FreshtideError):
    """A version of a table that is needed and has been cleaned up."""


class TableStates:
    """Reads tables as of cuts, within one update or question; every table is pinned at its first reading."""

    def __init__(
        self,
        session: SparkSession,
        graph: TableGraph,
        store: Store,
        schemas: TableSchemas,
        *,
        scans: SharedScans | None = None,
    ) -> None:
        """`scans` are shared with the other tables of the update."""
        self.session = session
        self.bytes_read = 0
        self._graph = graph
        self._cuts = Cuts(graph)
        self._store = store
        self._schemas = schemas
        self._scans = scans
        self._pinned: dict[str, Snapshot | None] = {} if scans is None else scans.pinned

    def pin(self, name: str) -> Snapshot | None:
        if name not in self._pinned:
            self._pinned[name] = self._store.table(name, time_column=self._graph[name].time_column).snapshot
        return self._pinned[name]

    def settle(self, name: str) -> Mapping[str, int]:
        """Pin the reference tables whose content a view is computed with; the number of the update of each.

        Those that it reads itself are taken as they are now. Others are taken as the views have them that it reads them
        through, if these agree: then what these hold can be read.
        """
        contents = self._graph.contents_of(name)
        own = self._graph[name].sources
        for content in contents:
            if content not in own and content not in self._pinned:
                found = self._as_read_below(name, content)
                if found is not None:
                    self._pinned[content] = found
        return self._numbers(contents)

    def hold_to(self, record: UpdateRecord) -> None:
        """Pin the reference tables at the content that a commit names."""
        for name, number in record.contents.items():
            if name in self._graph:
                self._pinned[name] = self._after(name, number)

    def revised_since(self, name: str, number: int) -> int | None:
        """From which time stamp on rows of a table have been revised by updates after a number."""
        return self._store.table(name).revised_since(number)

    def version_of(self, name: str, freshness: int) -> Snapshot | None:
        """A version of just this freshness, where it is at hand."""
        return self._store.table(name, time_column=self._graph[name].time_column).as_of(freshness)

    def after(self, name: str, number: int) -> Snapshot | None:
        """The table as it was after an update; None where that is not kept whole."""
        stored = self._store.table(name, time_column=self._graph[name].time_column)
        current = stored.snapshot
        return current if current is not None and current.number == number else stored.after(number)

    def schema(self, name: str) -> StructType:
        """The columns that the table is declared with."""
        return self._schemas.of(name)

    def newest(self, name: str) -> DataFrame:
        """The table as it is stored now."""
        return self._read(self._graph[name], self.pin(name), None, None)

    def beside(self, name: str) -> DataFrame:
        """What a base table has put aside: `<table>__rejects` or `<table>__late`."""
        snapshot = self._store.table(name).snapshot
        if snapshot is not None:
            return read_files(self.session, snapshot, snapshot.files)
        schema = REJECTS if name.endswith("__rejects") else self._schemas.of(name.removesuffix("__late"))
        return empty_frame(self.session, schema)

    def as_of(self, name: str, cut: int, *, since: int | None = None) -> DataFrame:
        """The rows, stamped from `since` on, that the table has as of the cut."""
        table = self._graph[name]
        if table.is_reference:
            return self._content(table)
        snapshot = self.pin(name)
        if self._graph.is_update_stream(name):
            return self._read(table, snapshot, since, None)
        if not self._counts(table, snapshot):
            return self.computed(table, cut, since=since)
        if self._cuts.appends_only(name):
            return self._read(table, snapshot, since, self._cuts.closed_before(name, cut))
        return self._as_stored_or_computed(table, snapshot, cut, since)

    def _as_stored_or_computed(self, table: Table, snapshot: Snapshot | None, cut: int, since: int | None) -> DataFrame:
        """A view whose rows change: read where it is stored at just that freshness."""
        if snapshot is not None and snapshot.freshness == cut:
            return self._read(table, snapshot, since, None)
        exact = self.version_of(table.name, cut)
        if exact is not None and self._counts(table, exact):
            return self._read(table, exact, since, None)
        return self._partly_computed(table, snapshot, cut, since)

    def between(self, name: str, after: int, cut: int) -> DataFrame:
        """The rows that an append-only table gains from one cut to another."""
        table, closed_then = self._graph[name], self._cuts.closed_before(name, after)
        if not self._counts(table, self.pin(name)):
            return self.computed(table, cut, since=closed_then)
        return self._read(table, self.pin(name), closed_then, self._cuts.closed_before(name, cut))

    def gains(self, name: str, after: int, cut: int) -> bool:
        """Whether an append-only table may have rows between the cuts, by the bounds of its files."""
        snapshot = self.pin(name)
        if not self._counts(self._graph[name], snapshot):
            return True
        closed_then, closed = self._cuts.closed_before(name, after), self._cuts.closed_before(name, cut)
        return snapshot is not None and bool(snapshot.between(closed_then, closed))

    def recomputed(self, name: str) -> DataFrame:
        """What the table should hold by its last commit, computed from base tables alone."""
        return self._recomputed(self._graph[name], self.pin(name))

    def _recomputed(self, table: Table, snapshot: Snapshot | None) -> DataFrame:
        """A version of a table, computed from base tables as they were when it was: its commit names their versions."""
        if not table.is_derived or snapshot is None or snapshot.record is None:
            return self._read(table, snapshot, None, None)
        record = snapshot.record
        cut = record.freshness or 0
        then = TableStates(self.session, self._graph, self._store, self._schemas)
        then.hold_to(record)

        def source_of(name: str) -> DataFrame:
            source = self._graph[name]
            if source.is_reference or not self._graph.is_update_stream(name):
                return then._expanded(source, cut)
            return then._recomputed(source, then._after(name, record.sources.get(name)))

        frame = evaluate_by_source(self.session, table.query, source_of)
        self.bytes_read += then.bytes_read
        if table.is_latest:
            return youngest_rows(frame, table, self._graph)
        return frame if self._graph.is_update_stream(table.name) else self._emitted(table, frame, cut)

    def _expanded(self, table: Table, cut: int) -> DataFrame:
        """A table as of the cut, or a reference table as it is pinned, computed from base tables alone."""
        if table.is_reference and table.has_own_content:
            return self._recomputed(table, self.pin(table.name))
        if table.is_base:
            return self.as_of(table.name, cut)
        frame = evaluate_by_source(self.session, table.query, lambda source: self._expanded(self._graph[source], cut))
        return self._emitted(table, frame, cut)

    def _content(self, table: Table) -> DataFrame:
        """What a reference table holds, as it is pinned; a view of others what it gives over these as they are."""
        snapshot = self.pin(table.name)
        if table.has_own_content or self._counts(table, snapshot):
            return self._read(table, snapshot, None, None)
        return evaluate_by_source(self.session, table.query, lambda source: self._content(self._graph[source]))

    def counts(self, name: str, snapshot: Snapshot | None) -> bool:
        """Whether a version of a table was computed with the content of reference tables that is pinned."""
        return self._counts(self._graph[name], snapshot)

    def _counts(self, table: Table, snapshot: Snapshot | None) -> bool:
        """Whether what is stored of a table was computed with the content of reference tables that is pinned."""
        record = None if snapshot is None else snapshot.record
        return record is None or self.has_contents(table.name, record)

    def has_contents(self, name: str, record: UpdateRecord) -> bool:
        """Whether an update of a view was computed with the content of reference tables that is pinned."""
        contents = self._graph.contents_of(name)
        return all(self._is_content(content, record.contents.get(content)) for content in contents)

    def _is_content(self, name: str, number: int | None) -> bool:
        """Whether a reference table held after an update what it holds as it is pinned."""
        pinned = self.pin(name)
        if pinned is None or number is None or number == pinned.number:
            return number == (None if pinned is None else pinned.number)
        return number < pinned.number and self.revised_since(name, number) is None

    def _numbers(self, contents: Iterable[str]) -> dict[str, int]:
        pinned = {name: self.pin(name) for name in contents}
        return {name: snapshot.number for name, snapshot in pinned.items() if snapshot is not None}

    def _as_read_below(self, view: str, content: str) -> Snapshot | None:
        """A reference table as the sources of a view have it; None where they differ, or that is not kept any more."""
        readers = [source for source in self._graph[view].sources if content in self._graph.contents_of(source)]
        records = [None if (found := self.pin(name)) is None else found.record for name in readers]
        numbers = {None if record is None else record.contents.get(content) for record in records}
        number = numbers.pop() if len(numbers) == 1 else None
        return None if number is None else self.after(content, number)

    def _after(self, name: str, number: int | None) -> Snapshot | None:
        """A table after one of its updates; without a number, before the first."""
        if number is None:
            return None
        snapshot = self.after(name, number)
        if snapshot is None:
            raise PastGoneError(
                f"What '{name}' held after its update {number} is not kept any more.",
                way_out="Audit again after the next update of what reads it.",
            )
        return snapshot

    def _partly_computed(self, table: Table, snapshot: Snapshot | None, cut: int, since: int | None) -> DataFrame:
        closed = self._cuts.closed_before(table.name, cut)
        if closed is None or table.time_column is None:
            # Nothing bounds what a row depends on, so the sources are read whole.
            whole = self.computed(table, cut)
            return (
                whole if since is None or table.time_column is None else stamped_from(whole, table.time_column, since)
            )
        opens_at = closed if since is None else max(closed, since)
        open_rows = self.computed(table, cut, since=opens_at)
        if since is not None and since >= closed:
            return open_rows
        closed_rows = self._read(table, snapshot, since, closed)
        return closed_rows.unionByName(open_rows, allowMissingColumns=True)

    def computed(self, table: Table, cut: int, *, since: int | None = None) -> DataFrame:
        """The query's rows stamped from `since` on, over the sources as of the cut."""
        bounded = since is not None and self._cuts.bounded(table.name)
        sources_since = since - self._cuts.lookback(table.name) if since is not None and bounded else None
        frame = evaluate_by_source(
            self.session, table.query, lambda source: self.as_of(source, cut, since=sources_since)
        )
        if since is not None and table.time_column is not None:
            frame = stamped_from(frame, table.time_column, since)
        return self._emitted(table, frame, cut)

    def _emitted(self, table: Table, frame: DataFrame, cut: int) -> DataFrame:
        """Without the open buckets, where a view shows closed ones only."""
        if not table.emits_closed_buckets or table.time_column is None:
            return frame
        closed = self._cuts.closed_before(table.name, cut)
        return frame.limit(0) if closed is None else stamped_before(frame, table.time_column, closed)

    def _read(self, table: Table, snapshot: Snapshot | None, since: int | None, before: int | None) -> DataFrame:
        if snapshot is None:
            return empty_frame(self.session, self._schemas.of(table.name))
        self.bytes_read += sum(file.size for file in snapshot.between(since, before))
        if self._scans is not None:
            frame = self._scans.between(self.session, table, snapshot, since, before)
        else:
            frame = read_between(self.session, snapshot, table.time_column, since, before)
        return frame if table.made_by is None else self._with_columns_to_come(table.name, frame)

    def _with_columns_to_come(self, name: str, frame: DataFrame) -> DataFrame:
        """A table that a flow makes has the columns of before until the flow runs again."""
        if self._schemas.types(name) is None:
            return frame
        have = {column.lower() for column in frame.columns}
        missing = StructType([field for field in self._schemas.of(name) if field.name.lower() not in have])
        return frame.unionByName(empty_frame(self.session, missing), allowMissingColumns=True) if missing else frame
