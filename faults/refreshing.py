"""Refreshes of views, computed: in full, from open buckets on, or with what is new alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from faults.content import rows_of, written
from faults.loading import ROWS, TIME
from faults.tables import VIEWS
from freshtide.core.cuts import Cuts
from freshtide.core.graph import TableGraph
from freshtide.core.instants import micros
from freshtide.core.steps import Refresh, Span
from freshtide.core.tables import Maintenance, Table
from freshtide.storage import (
    BEGINNING,
    Change,
    DataFile,
    Prepared,
    Snapshot,
    Store,
    UpdateKind,
    UpdateRecord,
    next_number,
)
from freshtide.world import Clock

_TOTALS = pa.schema([("k", pa.string()), ("total", pa.int64())])
_SCHEMAS: dict[str, pa.Schema] = {
    "large": ROWS,
    "per_minute": pa.schema([("minute", TIME), ("k", pa.string()), ("total", pa.int64())]),
    "totals": _TOTALS,
    "split_totals": _TOTALS,
}


class Refreshing:
    """Computes refreshes of views."""

    def __init__(
        self,
        store: Store,
        graph: TableGraph,
        definitions: Mapping[str, str],
        *,
        clock: Clock,
        work: Callable[[], None],
    ) -> None:
        self._store = store
        self._cuts = Cuts(graph)
        self._definitions = definitions
        self._clock = clock
        self._work = work

    def prepared(self, step: Refresh) -> Prepared:
        table, cut = step.table, micros(step.upto)
        stored = self._store.table(table.name, time_column=table.time_column)
        number, current = next_number(stored, at=self._clock.now()), stored.snapshot
        view = VIEWS[table.name]
        if step.span is not None:
            # What it was planned by may have changed by the time that it looks at its source.
            self._work()
        source = self._store.table(view.source, time_column="ts").snapshot
        assert source is not None, "a view is refreshed once its source has data"
        self._work()
        rows = [row for row in rows_of(self._store.disk, source) if row.ts <= cut]
        self._work()
        anew = step.rebuild or step.span is not None
        revised_from, since = self._since(table, current, anew, view.source)
        whole = view.query(rows)
        schema = _SCHEMAS[table.name]
        remove: tuple[DataFile, ...] = ()
        if step.span is not None:
            new = self._spanned(whole, schema, table, step.span, cut)
        elif since is None:
            new = whole
        else:
            assert current is not None, "only what is there can be added to"
            remove = current.between(since, None) if table.maintain is Maintenance.PARTITIONS else ()
            # Files that reach further back are replaced whole.
            begins = min([since, *(file.low or 0 for file in remove)])
            place = schema.get_field_index(table.time_column or "")
            new = [values for values in whole if values[place] >= begins]
        files = written(stored, new, schema, number=number)
        self._work()
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if step.rebuild else UpdateKind.REFRESH,
            freshness=cut,
            safe=cut,
            definition=self._definitions[table.name],
            sources={view.source: source.number},
            revised_from=revised_from,
        )
        change = Change(
            record=record,
            at=self._clock.now(),
            schema=schema,
            add=files,
            remove=remove,
            replace_all=since is None,
        )
        return Prepared(own=(stored, change))

    def _spanned(
        self, whole: list[tuple[Any, ...]], schema: pa.Schema, table: Table, span: Span, cut: int
    ) -> list[tuple[Any, ...]]:
        """What a part of a rebuild computes: what becomes final in it, and all that is left in the last one."""
        place = schema.get_field_index(table.time_column or "")
        begins = None if span.after is None else self._cuts.closed_before(table.name, span.after)
        ends = None if span.is_last else self._cuts.closed_before(table.name, cut)
        return [
            values
            for values in whole
            if (begins is None or values[place] >= begins) and (ends is None or values[place] < ends)
        ]

    def _since(self, table: Table, current: Snapshot | None, anew: bool, source: str) -> tuple[int | None, int | None]:
        """From where on the view's content is revised, and from where on it is written; None: all of it."""
        if current is None or current.freshness is None or current.record is None:
            return None, None
        seen = current.record.sources.get(source, 0)
        revised = self._store.table(source).revised_since(seen)
        if anew or table.maintain is Maintenance.FULL or (revised is not None and revised <= current.freshness):
            return BEGINNING, None
        if table.maintain is Maintenance.PARTITIONS:
            return None, self._cuts.closed_before(table.name, current.freshness)
        return None, current.freshness + 1
