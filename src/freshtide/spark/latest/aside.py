"""What an update of a latest table puts beside the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from freshtide.spark.latest.rows import Reject
from freshtide.spark.rejects import REJECTS
from freshtide.spark.schemas import arrow_schema_of
from freshtide.storage import Change, LatestTable, Merge, StoredTable, TableChange, UpdateKind, UpdateRecord


class Aside:
    """The rejects of one update table, the keys that have gone, and what waits for its windows."""

    def __init__(
        self,
        rejects: StoredTable,
        gone: LatestTable | None,
        open_windows: StoredTable,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._rejects = rejects
        self._gone = gone
        self.open_windows = open_windows
        self._clock = clock

    @property
    def tables(self) -> tuple[StoredTable, ...]:
        return (self._rejects, self.open_windows, *((self._gone.stored,) if self._gone else ()))

    def gone(self, keys: pa.Table | None, *, number: int, anew: bool) -> Merge | None:
        """What becomes of the keys that have gone, when these go as well; None: they stay as they are."""
        if self._gone is None or keys is None or not (keys.num_rows or (anew and self._gone.stored.snapshot)):
            return None
        of_keys = self._gone.anew if anew else self._gone.merge
        return of_keys(keys, number=number)

    def changes(
        self, rejects: Sequence[Reject], gone: Merge | None, waiting: pa.Table | None, record: UpdateRecord
    ) -> tuple[TableChange, ...]:
        """What the update of this record leaves beside the table; what is `waiting` takes the place of all."""
        anew = record.kind is UpdateKind.REBUILD
        found = []
        if waiting is not None:
            merge = self._appended(self.open_windows, waiting, record)
            found.append(self._change(self.open_windows, merge, record, anew=True))
        if rejects or (anew and self._rejects.snapshot is not None):
            columns = {name: [getattr(reject, name) for reject in rejects] for name in REJECTS.names}
            rows = pa.table(columns, schema=arrow_schema_of(REJECTS))
            found.append(self._change(self._rejects, self._appended(self._rejects, rows, record), record, anew=anew))
        if self._gone is not None and gone is not None:
            found.append(self._change(self._gone.stored, gone, record, anew=anew))
        return tuple(found)

    def _appended(self, stored: StoredTable, rows: pa.Table, record: UpdateRecord) -> Merge:
        files = tuple(stored.write(rows, number=record.number)) if rows.num_rows else ()
        return Merge(rows=rows, add=files, remove=(), replaced=0, passed_by=0, left=0)

    def _change(self, stored: StoredTable, merge: Merge, record: UpdateRecord, *, anew: bool) -> TableChange:
        beside = UpdateRecord(
            number=record.number,
            kind=record.kind,
            freshness=record.freshness,
            safe=record.safe,
            definition=record.definition,
        )
        change = Change(
            record=beside,
            at=self._clock(),
            schema=merge.rows.schema,
            add=merge.add,
            remove=merge.remove,
            replace_all=anew,
        )
        return stored, change
