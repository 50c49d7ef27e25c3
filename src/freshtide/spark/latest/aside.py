"""What an update of an update table commits beside the table.

That is done before the table: until the table has landed it can be rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from freshtide.spark.latest.rows import Reject
from freshtide.spark.rejects import REJECTS
from freshtide.spark.schemas import arrow_schema_of
from freshtide.storage import Change, LatestTable, Merge, StoredTable, UpdateKind, UpdateRecord


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

    def roll_back(self, number: int) -> None:
        """Undo what came after an update of the table."""
        for stored in (self._rejects, self.open_windows, *((self._gone.stored,) if self._gone else ())):
            stored.roll_back(number, at=self._clock())

    def put(
        self, rejects: Sequence[Reject], gone: pa.Table | None, waiting: pa.Table | None, record: UpdateRecord
    ) -> None:
        """Commit what the update of this record leaves beside the table; what is `waiting` takes the place of all."""
        anew = record.kind is UpdateKind.REBUILD
        if waiting is not None:
            self._commit(self.open_windows, self._appended(self.open_windows, waiting, record), record, anew=True)
        if rejects or (anew and self._rejects.snapshot is not None):
            columns = {name: [getattr(reject, name) for reject in rejects] for name in REJECTS.names}
            rows = pa.table(columns, schema=arrow_schema_of(REJECTS))
            self._commit(self._rejects, self._appended(self._rejects, rows, record), record, anew=anew)
        if self._gone is not None and gone is not None and (gone.num_rows or (anew and self._gone.stored.snapshot)):
            of_keys = self._gone.anew if anew else self._gone.merge
            self._commit(self._gone.stored, of_keys(gone, number=record.number), record, anew=anew)

    def _appended(self, stored: StoredTable, rows: pa.Table, record: UpdateRecord) -> Merge:
        files = tuple(stored.write(rows, number=record.number)) if rows.num_rows else ()
        return Merge(rows=rows, add=files, remove=(), replaced=0, passed_by=0, left=0)

    def _commit(self, stored: StoredTable, merge: Merge, record: UpdateRecord, *, anew: bool) -> None:
        beside = UpdateRecord(
            number=record.number,
            kind=record.kind,
            freshness=record.freshness,
            safe=record.safe,
            definition=record.definition,
        )
        stored.commit(
            Change(
                record=beside,
                at=self._clock(),
                schema=merge.rows.schema,
                add=merge.add,
                remove=merge.remove,
                replace_all=anew,
            )
        )
