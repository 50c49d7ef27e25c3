"""Bringing a view up to a cut: what its sources have revised is computed anew, what they have gained is added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from freshtide.core.cuts import Cuts
from freshtide.core.instants import micros
from freshtide.core.maintenance import MODES
from freshtide.core.steps import Refresh
from freshtide.core.tables import Maintenance, Table
from freshtide.spark.asof import TableStates
from freshtide.spark.maintenance import append, full, partitions
from freshtide.spark.maintenance.increments import Increment, NewRows, View
from freshtide.spark.writing import write_result
from freshtide.storage import (
    BEGINNING,
    Change,
    Prepared,
    Snapshot,
    StoredTable,
    UpdateKind,
    UpdateRecord,
    next_number,
)

INCREMENTS: Mapping[Maintenance, Increment] = {
    Maintenance.APPEND: append.increment,
    Maintenance.PARTITIONS: partitions.increment,
    Maintenance.FULL: full.increment,
}


class ViewMaintainer:
    """Updates one view to a cut."""

    def __init__(
        self,
        table: Table,
        stored: StoredTable,
        states: TableStates,
        cuts: Cuts,
        *,
        large_update: int,
        clock: Callable[[], float],
    ) -> None:
        self._view = View(table=table, states=states, cuts=cuts)
        self._table = table
        self._stored = stored
        self._states = states
        self._cuts = cuts
        self._large_update = large_update
        self._clock = clock

    @contextmanager
    def prepared(self, step: Refresh, *, definition: str) -> Iterator[Prepared]:
        """Compute what brings the view to a cut."""
        cut, at = micros(step.upto), self._clock()
        current, number = self._stored.snapshot, next_number(self._stored, at=at)
        # Before anybody asks what was revised: what lands in a source from here on is for the next update.
        consumed = self._consumed()
        revised_from: int | None = None
        if current is None or current.freshness is None or step.rebuild or self._has_changed(current, definition):
            revised_from = BEGINNING if current is not None else None
            new = self._view.everything(cut)
        else:
            revised_from = self._revised(current, current.freshness)
            new = self._increment(current, current.freshness, cut, revised_from)
        written = write_result(
            new.frame,
            self._stored,
            number=number,
            partition_by=self._table.partition_by,
            large=self._states.bytes_read > self._large_update,
            opens_at=self._opens_at(cut),
        )
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if step.rebuild else UpdateKind.REFRESH,
            freshness=cut,
            safe=cut,
            definition=definition,
            sources=consumed,
            revised_from=revised_from,
        )
        change = Change(
            record=record,
            at=self._clock(),
            schema=written.schema,
            partition_by=self._table.partition_by,
            add=written.files,
            remove=new.remove,
            replace_all=new.replace_all,
        )
        yield Prepared(own=(self._stored, change))

    def reads_from(self, *, definition: str, rebuild: bool) -> int | None:
        """From which time stamp on a refresh reads the sources, at most; None: from the beginning."""
        current = self._stored.snapshot
        if current is None or current.freshness is None or rebuild or self._has_changed(current, definition):
            return None
        revised_from = self._revised(current, current.freshness)
        if revised_from == BEGINNING:
            return None
        freshness = current.freshness if revised_from is None else revised_from - 1
        return self._cuts.reads_from(self._table.name, freshness)

    def is_there(self, cut: int, *, definition: str) -> bool:
        """Whether the table has what a refresh to the cut would give it."""
        current = self._stored.snapshot
        if current is None or current.freshness is None or self._has_changed(current, definition):
            return False
        return current.freshness >= cut and self._revised(current, current.freshness) is None

    def _has_changed(self, current: Snapshot, definition: str) -> bool:
        return current.record is None or current.record.definition != definition

    def _revised(self, current: Snapshot, freshness: int) -> int | None:
        """From where on the sources have changed behind the table's back."""
        seen = current.record.sources if current.record else {}
        found = [self._states.revised_since(source, seen.get(source, 0)) for source in self._table.sources]
        earliest = min((revised for revised in found if revised is not None), default=None)
        return earliest if earliest is not None and earliest <= freshness else None

    def _consumed(self) -> dict[str, int]:
        """The update of each source that this one is computed from."""
        pinned = {source: self._states.pin(source) for source in self._table.sources}
        return {source: snapshot.number for source, snapshot in pinned.items() if snapshot is not None}

    def _increment(self, current: Snapshot, freshness: int, cut: int, revised_from: int | None) -> NewRows:
        if revised_from == BEGINNING:
            return self._view.everything(cut)
        if revised_from is not None:
            return partitions.increment(self._view, current, revised_from - 1, cut)
        return INCREMENTS[self._table.maintain](self._view, current, freshness, cut)

    def _opens_at(self, cut: int) -> int | None:
        if not MODES[self._table.maintain].has_open_buckets or self._table.emits_closed_buckets:
            return None
        return self._cuts.closed_before(self._table.name, cut)
