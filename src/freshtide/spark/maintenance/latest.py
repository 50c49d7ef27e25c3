"""`latest`: views of one row per key over tables of one row per key: only what has changed is computed anew.

Filter, map, union and join keep the key (Moga et al. 2009, section 3.2), so the row of a key follows from the source
rows of the same key alone. An update computes the keys that are in files younger than the updates of the sources that
the last one saw. What the query gives for them takes the place of what the view had, be it younger or older: a key goes
back in time where the younger of two rows ceases to qualify. A key that the query gives no row for leaves the view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from freshtide.core.instants import micros
from freshtide.core.steps import Refresh
from freshtide.core.tables import Table
from freshtide.spark.asof import TableStates
from freshtide.spark.latest.listeners import Listeners
from freshtide.spark.latest.newest import in_order
from freshtide.spark.latest.tables import LatestTables, identity
from freshtide.spark.queries import evaluate_by_source
from freshtide.spark.reading import empty_frame, schema_of
from freshtide.storage import (
    BEGINNING,
    Change,
    LatestTable,
    Merge,
    Prepared,
    Snapshot,
    UpdateKind,
    UpdateRecord,
    all_of,
    next_number,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewRows:
    """What an update puts into the view; with `replace_all` as its whole content."""

    merge: Merge
    schema: pa.Schema
    replace_all: bool


class LatestViewMaintainer:
    """Updates one view of one row per key."""

    def __init__(
        self,
        table: Table,
        latest: LatestTables,
        states: TableStates,
        *,
        clock: Callable[[], float],
        listeners: Listeners,
    ) -> None:
        self._table = table
        self._latest = latest
        self._own = latest[table.name]
        self._key, _ = identity(table)
        self._states = states
        self._clock = clock
        self._listeners = listeners

    @contextmanager
    def prepared(self, step: Refresh, *, definition: str) -> Iterator[Prepared]:
        """Compute what brings the view up to date; listeners are told once that has landed."""
        cut, at, rebuild = micros(step.upto), self._clock(), step.rebuild
        current, number = self._own.stored.snapshot, next_number(self._own.stored, at=at)
        # Before it is asked what has happened to the sources: what happens later is for the next update.
        consumed = self._consumed()
        seen = None if rebuild else self._seen(current, definition)
        new = self._everything(number) if seen is None else self._changed(seen, number)
        merge = new.merge
        left = current.rows if new.replace_all and current is not None else merge.left
        changes = new.replace_all or bool(merge.add or merge.remove)
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if rebuild else UpdateKind.REFRESH,
            freshness=cut,
            safe=cut,
            definition=definition,
            sources=consumed,
            contents=self._states.settle(self._table.name),
            revised_from=BEGINNING if current is not None and changes else None,
            left=left,
        )
        change = Change(
            record=record,
            at=self._clock(),
            schema=new.schema,
            add=merge.add,
            remove=merge.remove,
            replace_all=new.replace_all,
        )
        yield Prepared(own=(self._own.stored, change))
        self._listeners.tell(self._table.name, merge.rows)

    def _seen(self, current: Snapshot | None, definition: str) -> Mapping[str, int] | None:
        """The update of each source that the view knows; None where everything has to be computed anew.

        That is so at first, for another definition, and after keys have left a view that it reads: no file tells which.
        """
        record = current.record if current else None
        if record is None or record.definition != definition:
            return None
        seen = {source: record.sources.get(source, 0) for source in self._table.sources}
        for source, number in seen.items():
            if self._source(source).stored.keys_left_since(number):
                return None
        return seen

    def _consumed(self) -> dict[str, int]:
        pinned = {source: self._states.pin(source) for source in self._table.sources}
        return {source: snapshot.number for source, snapshot in pinned.items() if snapshot is not None}

    def _everything(self, number: int) -> _NewRows:
        rows = self._ordered(evaluate_by_source(self._states.session, self._table.query, self._states.newest))
        return _NewRows(merge=self._own.anew(rows, number=number), schema=rows.schema, replace_all=True)

    def _changed(self, seen: Mapping[str, int], number: int) -> _NewRows:
        changed = all_of(
            self._source(source).changed_since(snapshot, seen[source])
            for source in self._table.sources
            if (snapshot := self._states.pin(source)) is not None
        )
        frame = evaluate_by_source(self._states.session, self._table.query, lambda name: self._rows_of(name, changed))
        rows = self._ordered(frame)
        merge = self._own.replace(rows, of=changed, number=number)
        return _NewRows(merge=merge, schema=rows.schema, replace_all=False)

    def _ordered(self, frame: DataFrame) -> pa.Table:
        return in_order(frame, self._table, self._latest.tables)

    def _source(self, name: str) -> LatestTable:
        """A source by the key of the view, which can be a part of its own: then the youngest of several rows counts."""
        return self._latest.by(self._key, name)

    def _rows_of(self, source: str, keys: pa.Array) -> DataFrame:
        """The rows of a source that have one of these keys."""
        session, snapshot = self._states.session, self._states.pin(source)
        if snapshot is None:
            return self._states.newest(source)
        schema = schema_of(snapshot)
        rows = self._source(source).rows_of(snapshot, keys)
        return session.createDataFrame(rows, schema=schema) if rows.num_rows else empty_frame(session, schema)
