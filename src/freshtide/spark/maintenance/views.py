"""Bringing a view up to a cut: what its sources have revised is computed anew, what they have gained is added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from freshtide.core.cuts import Cuts
from freshtide.core.definitions import FormerRows
from freshtide.core.instants import micros
from freshtide.core.maintenance import MODES
from freshtide.core.steps import Refresh
from freshtide.core.tables import Maintenance, Table
from freshtide.spark.asof import TableStates
from freshtide.spark.jvm import collected
from freshtide.spark.maintenance import append, full, partitions
from freshtide.spark.maintenance.exchanges import Exchange, exchanged
from freshtide.spark.maintenance.increments import Increment, NewRows, Spanned, View
from freshtide.spark.reading import read_files
from freshtide.spark.writing import write_result
from freshtide.storage import (
    BEGINNING,
    Change,
    Prepared,
    Snapshot,
    StoredTable,
    UpdateKind,
    UpdateRecord,
    Writer,
    kept_upto,
    next_number,
)

INCREMENTS: Mapping[Maintenance, Increment] = {
    Maintenance.APPEND: append.increment,
    Maintenance.PARTITIONS: partitions.increment,
    Maintenance.FULL: full.increment,
    # What it gains by changes is not computed here: this is for when all of it is.
    Maintenance.INCREMENTAL: full.increment,
}
SPANNED: Mapping[Maintenance, Spanned] = {
    Maintenance.APPEND: append.spanned,
    Maintenance.PARTITIONS: partitions.spanned,
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
        former: FormerRows | None,
        large_update: int,
        clock: Callable[[], float],
    ) -> None:
        """`former` are rows that say what the query gives, though it was another one."""
        self._view = View(table=table, states=states, cuts=cuts)
        self._table = table
        self._stored = stored
        self._states = states
        self._cuts = cuts
        self.former: str | None = None if former is None or former.columns else former.definition
        """The definition of the same query in other words."""
        self._widened = former if former is not None and former.columns else None
        self._large_update = large_update
        self._clock = clock

    @contextmanager
    def prepared(self, step: Refresh, *, definition: str) -> Iterator[Prepared]:
        """Compute what brings the view to a cut."""
        taken_over = self.taken_over(step, definition=definition)
        if taken_over is not None:
            yield taken_over
            return
        cut, at = micros(step.upto), self._clock()
        current, number = self._stored.snapshot, next_number(self._stored, at=at)
        # Before anybody asks what was revised: what lands in a source from here on is for the next update.
        contents = self._states.settle(self._table.name)
        consumed = self._consumed()
        kept = None if step.rebuild or step.span is not None else self._kept(current, definition)
        new = self._new_rows(step, current, kept, cut)
        exchange = self._where_it_differs(new, current, kept, number) or self._written(new, number, cut)
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if step.rebuild else UpdateKind.REFRESH,
            freshness=cut,
            safe=cut,
            definition=definition,
            sources=consumed,
            contents=contents,
            revised_from=_revised_from(self._table, current, kept, cut),
        )
        change = Change(
            record=record,
            at=self._clock(),
            schema=exchange.written.schema,
            partition_by=self._table.partition_by,
            add=exchange.written.files,
            remove=exchange.remove,
            replace_all=exchange.replace_all,
        )
        yield Prepared(own=(self._stored, change))

    def taken_over(self, step: Refresh, *, definition: str) -> Prepared | None:
        """What the view holds under its former definition, where nothing but that tells what it is to hold.

        As it is, if it is only written differently and there is nothing else to be computed; or with other columns, as
        fresh as it is. None where sources have to be asked.
        """
        current = self._stored.snapshot
        if step.rebuild or current is None or current.record is None or current.record.definition == definition:
            return None
        if self._widened is not None and current.record.definition == self._widened.definition:
            return self._with_other_columns(current, current.record, self._widened, definition)
        if not self.is_there(micros(step.upto), definition=definition) or self._consumed() != current.record.sources:
            return None
        record = self._as_of(current.record, definition)
        change = Change(record=record, at=self._clock(), schema=current.schema, partition_by=self._table.partition_by)
        return Prepared(own=(self._stored, change))

    def _with_other_columns(
        self, current: Snapshot, former: UpdateRecord, rows: FormerRows, definition: str
    ) -> Prepared | None:
        kept = self._kept(current, rows.definition)
        if kept is None or kept != current.freshness:
            return None
        record = replace(self._as_of(former, definition), states={}, from_changes=False, revised_from=BEGINNING)
        written = write_result(
            read_files(self._states.session, current, current.files).selectExpr(*rows.columns),
            self._stored,
            number=record.number,
            partition_by=self._table.partition_by,
            large=current.size > self._large_update,
            opens_at=self._opens_at(kept),
        )
        change = Change(
            record=record,
            at=self._clock(),
            schema=written.schema,
            partition_by=self._table.partition_by,
            add=written.files,
            replace_all=True,
        )
        return Prepared(own=(self._stored, change))

    def _as_of(self, former: UpdateRecord, definition: str) -> UpdateRecord:
        """Another update of the view, to where it stands."""
        number = next_number(self._stored, at=self._clock())
        return replace(
            former,
            number=number,
            kind=UpdateKind.REFRESH,
            definition=definition,
            revised_from=None,
            writer=Writer(),
        )

    def _written(self, new: NewRows, number: int, cut: int) -> Exchange:
        written = write_result(
            new.frame,
            self._stored,
            number=number,
            partition_by=self._table.partition_by,
            large=self._is_large,
            opens_at=self._opens_at(cut),
        )
        return Exchange(written=written, remove=new.remove, replace_all=new.replace_all)

    @property
    def _is_large(self) -> bool:
        return self._states.bytes_read > self._large_update

    def _where_it_differs(
        self, new: NewRows, current: Snapshot | None, kept: int | None, number: int
    ) -> Exchange | None:
        """All of a view was computed, and most of it is there already: the rest is exchanged, and others can follow.

        None where it is written as a whole: what was there does not count, or is too large to be compared.
        """
        if not new.replace_all or current is None or kept is None or self._is_large:
            return None
        return exchanged(current, collected(new.frame), self._stored, number=number)

    def reads_from(self, *, definition: str, rebuild: bool) -> int | None:
        """From which time stamp on a refresh reads the sources, at most; None: from the beginning."""
        kept = None if rebuild else self._kept(self._stored.snapshot, definition)
        return None if kept is None else self._cuts.reads_from(self._table.name, kept)

    def is_there(self, cut: int, *, definition: str) -> bool:
        """Whether the table has what a refresh to the cut would give it."""
        current = self._stored.snapshot
        kept = self._kept(current, definition)
        return current is not None and kept is not None and kept == current.freshness and kept >= cut

    def _kept(self, current: Snapshot | None, definition: str) -> int | None:
        revised_since = self._states.revised_since
        if current is not None and current.record is not None:
            self._states.settle(self._table.name)
            if not self._states.has_contents(self._table.name, current.record):
                return None
        return kept_upto(
            current,
            definition=definition,
            former=self.former,
            sources=self._table.sources,
            revised_since=revised_since,
        )

    def _consumed(self) -> dict[str, int]:
        """The update of each source that this one is computed from."""
        pinned = {source: self._states.pin(source) for source in self._table.sources}
        return {source: snapshot.number for source, snapshot in pinned.items() if snapshot is not None}

    def _new_rows(self, step: Refresh, current: Snapshot | None, kept: int | None, cut: int) -> NewRows:
        if step.span is not None:
            frame = SPANNED[self._table.maintain](self._view, step.span, cut)
            return NewRows(frame=frame, replace_all=True)
        if current is None or kept is None:
            return self._view.everything(cut)
        if kept != current.freshness:
            return partitions.increment(self._view, current, kept, cut)
        return INCREMENTS[self._table.maintain](self._view, current, kept, cut)

    def _opens_at(self, cut: int) -> int | None:
        if not MODES[self._table.maintain].has_open_buckets or self._table.emits_closed_buckets:
            return None
        return self._cuts.closed_before(self._table.name, cut)


def _revised_from(table: Table, current: Snapshot | None, kept: int | None, cut: int) -> int | None:
    """From where on an update that keeps the view up to a cut changes what dependents may have used.

    Those who read it as a whole have used the rows that it had not yet, too.
    """
    if current is None:
        return None
    if kept is None or (table.is_reference and not kept == cut == current.freshness):
        return BEGINNING
    return None if kept == current.freshness else kept + 1
