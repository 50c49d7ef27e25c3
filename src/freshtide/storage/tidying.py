"""What is done to a table after an update has been booked: nobody waits for it but the table's next update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from freshtide.core.cuts import Cuts
from freshtide.core.maintenance import MODES
from freshtide.core.sides import GONE, OPEN, sides
from freshtide.core.tables import Table
from freshtide.storage.compaction import FAN_IN, compact
from freshtide.storage.latest import LARGEST_FILE
from freshtide.storage.store import Store

# Each update of a latest table writes some of its files anew, and nobody asks for what was superseded.
_PAST_OF_LATEST_TABLES = 3_600.0


class Tidying:
    """Keeps the thousandth update of a table as quick as the first."""

    def __init__(
        self, store: Store, cuts: Cuts, *, retention: float, clock: Callable[[], float], fan_in: int = FAN_IN
    ) -> None:
        """So many files of about the same size are merged into one."""
        self._store = store
        self._cuts = cuts
        self._retention = retention
        self._clock = clock
        self._compact = partial(compact, fan_in=fan_in)

    def tidy(self, table: Table) -> None:
        stored = self._store.table(table.name, time_column=table.time_column)
        snapshot = stored.snapshot
        if snapshot is None:
            return
        if table.is_latest:
            self._compact(stored, at=self._clock(), largest=LARGEST_FILE)
        else:
            closed = None
            if MODES[table.maintain].has_open_buckets and snapshot.freshness is not None:
                closed = self._cuts.closed_before(table.name, snapshot.freshness)
            self._compact(stored, at=self._clock(), closed_before=closed)
        past = self._retention if not table.is_latest else min(self._retention, _PAST_OF_LATEST_TABLES)
        stored.keep_house(past, at=self._clock())
        if table.is_base:
            self._tidy_beside(table, snapshot.number, past)
        if snapshot.record is not None:
            self._tidy_together(snapshot.record.targets, self._retention)
            # Nobody asks for what was kept before.
            self._tidy_together(snapshot.record.states, min(self._retention, _PAST_OF_LATEST_TABLES))

    def _tidy_beside(self, table: Table, number: int, past: float) -> None:
        """The same for what the last load has put aside, if anything."""
        for side in sides(table):
            beside = self._store.table(side)
            if beside.snapshot is not None and beside.snapshot.number == number:
                self._compact(beside, at=self._clock())
                # What is known of keys is written anew, too. Rejects stay.
                kept = past if side.endswith((GONE, OPEN)) else self._retention
                beside.keep_house(kept, at=self._clock())

    def _tidy_together(self, tables: Mapping[str, int], past: float) -> None:
        """What else updates of the table write: each opens it, which takes as long as its log says."""
        for name, number in tables.items():
            target = self._store.table(name)
            # One that is not as far as its table is for those to mend who look for losses.
            if target.snapshot is not None and target.snapshot.number == number:
                self._compact(target, at=self._clock())
                target.keep_house(past, at=self._clock())
