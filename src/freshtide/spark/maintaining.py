"""Bringing a derived table up to date: append, partitions or full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame

from freshtide.core.cuts import Cuts
from freshtide.core.tables import Maintenance, Table
from freshtide.spark.asof import TableStates
from freshtide.spark.queries import evaluate, source_names
from freshtide.spark.reading import read_files, stamped_before
from freshtide.spark.writing import write_result
from freshtide.storage import BEGINNING, Change, DataFile, Snapshot, StoredTable, UpdateKind, UpdateRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewRows:
    """What an update puts into a table, and which files it replaces."""

    frame: DataFrame
    remove: tuple[DataFile, ...] = ()
    replace_all: bool = False


class ViewMaintainer:
    """Updates one derived table to a cut."""

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
        self._table = table
        self._stored = stored
        self._states = states
        self._cuts = cuts
        self._large_update = large_update
        self._clock = clock

    def refresh(self, cut: int, *, definition: str, rebuild: bool) -> Snapshot:
        current = self._stored.snapshot
        number = (current.number if current else 0) + 1
        # Before anybody asks what was revised: what lands in a source from here on is for the next update.
        consumed = self._consumed()
        revised_from: int | None = None
        if current is None or current.freshness is None or rebuild or self._has_changed(current, definition):
            revised_from = BEGINNING if current is not None else None
            new = self._everything(cut)
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
            kind=UpdateKind.REBUILD if rebuild else UpdateKind.REFRESH,
            freshness=cut,
            safe=cut,
            definition=definition,
            sources=consumed,
            revised_from=revised_from,
        )
        return self._stored.commit(
            Change(
                record=record,
                at=self._clock(),
                schema=written.schema,
                partition_by=self._table.partition_by,
                add=written.files,
                remove=new.remove,
                replace_all=new.replace_all,
            )
        )

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

    def _increment(self, current: Snapshot, freshness: int, cut: int, revised_from: int | None) -> _NewRows:
        if revised_from == BEGINNING:
            return self._everything(cut)
        if revised_from is not None:
            # As if the table had only got to just before the revision.
            return self._open_partitions(current, revised_from - 1, cut)
        match self._table.maintain:
            case Maintenance.APPEND:
                return _NewRows(frame=self._gained(freshness, cut))
            case Maintenance.PARTITIONS:
                return self._open_partitions(current, freshness, cut)
            case Maintenance.FULL | Maintenance.LATEST:
                return self._everything(cut)

    def _everything(self, cut: int) -> _NewRows:
        return _NewRows(frame=self._states.computed(self._table, cut), replace_all=True)

    def _open_partitions(self, current: Snapshot, freshness: int, cut: int) -> _NewRows:
        """Recompute what was open at the last update; all before it is final."""
        opened = self._cuts.closed_before(self._table.name, freshness)
        time_column = self._table.time_column
        if opened is None or time_column is None:
            return self._everything(cut)
        frame = self._states.computed(self._table, cut, since=opened)
        replaced = current.between(opened, None)
        mixed = tuple(file for file in replaced if file.low is None or file.low < opened)
        if mixed:
            kept = stamped_before(read_files(self._states.session, current, mixed), time_column, opened)
            frame = frame.unionByName(kept, allowMissingColumns=True)
        return _NewRows(frame=frame, remove=replaced)

    def _gained(self, freshness: int, cut: int) -> DataFrame:
        """The rows that the query gains between two cuts.

        A query that looks at one instant at a time is run over the new rows alone. One that joins is run once per
        source: the new rows of that source, the old ones of those before it and all of those after it. Together
        these are all combinations in which at least one row is new, each once.
        """
        table, states = self._table, self._states
        names = source_names(table.query)
        if not table.linear or len(names) == 1:
            return evaluate(states.session, table.query, [states.between(name, freshness, cut) for name in names])
        terms: list[DataFrame] = []
        for turn, name in enumerate(names):
            if not states.gains(name, freshness, cut) and (terms or turn < len(names) - 1):
                continue
            frames = [
                states.as_of(other, freshness, since=self._reach_back(other, freshness))
                if place < turn
                else states.between(other, freshness, cut)
                if place == turn
                else states.as_of(other, cut, since=self._reach_back(other, freshness))
                for place, other in enumerate(names)
            ]
            terms.append(evaluate(states.session, table.query, frames))
        return reduce(DataFrame.unionAll, terms)

    def _reach_back(self, source: str, freshness: int) -> int | None:
        """From where on old rows of a source can still meet new rows of another."""
        closed = self._cuts.closed_before(source, freshness)
        if self._table.lookback is None or closed is None:
            return None
        return closed - self._cuts.lookback(self._table.name)

    def _opens_at(self, cut: int) -> int | None:
        if self._table.maintain is not Maintenance.PARTITIONS or self._table.emits_closed_buckets:
            return None
        return self._cuts.closed_before(self._table.name, cut)
