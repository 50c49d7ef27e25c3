"""`incremental`: what has changed of the sources says what changes of the view, operator by operator.

A view is computed as a whole at first, after a change of its definition, and where what it was computed from is not
kept any more. The refresh after that makes what its operators keep, and from then on updates read what has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions

from freshtide.core.graph import TableGraph
from freshtide.core.instants import micros
from freshtide.core.sides import state_beside
from freshtide.core.steps import Refresh
from freshtide.core.tables import Table
from freshtide.spark.asof import TableStates
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.incremental import (
    SIGN,
    Compiled,
    KeptStates,
    NeedsAllError,
    NotIncrementalError,
    Plans,
    Run,
    Settled,
    StateChange,
    ViewSources,
    When,
)
from freshtide.spark.jvm import collected
from freshtide.spark.maintenance.exchanges import Exchange, Rest, exchanged, without
from freshtide.spark.maintenance.views import ViewMaintainer
from freshtide.spark.reading import files_named, read_files, with_file
from freshtide.spark.schemas import quoted
from freshtide.spark.writing import Written, write_result
from freshtide.storage import (
    BEGINNING,
    Change,
    DataFile,
    Prepared,
    Snapshot,
    Store,
    StoredTable,
    UpdateKind,
    UpdateRecord,
    aligned,
    next_number,
)

_logger = logging.getLogger(__name__)


class IncrementalViewMaintainer:
    """Updates one view from the changes of its sources."""

    def __init__(
        self,
        whole: ViewMaintainer,
        table: Table,
        stored: StoredTable,
        states: TableStates,
        *,
        graph: TableGraph,
        store: Store,
        compiled: Callable[[], Compiled],
        large_update: int,
        clock: Callable[[], float],
    ) -> None:
        """`whole` computes all of it."""
        self._whole = whole
        self._table = table
        self._stored = stored
        self._states = states
        self._graph = graph
        self._store = store
        self._compiled = compiled
        self._large_update = large_update
        self._clock = clock

    @contextmanager
    def prepared(self, step: Refresh, *, definition: str) -> Iterator[Prepared]:
        """Compute what brings the view to a cut."""
        current = self._stored.snapshot
        update = self._whole.taken_over(step, definition=definition)
        definitions = {definition, self._whole.former}
        if update is None and not step.rebuild and current is not None and _counts(current, definitions):
            try:
                update = self._from_changes(current, micros(step.upto), definition)
            except (NeedsAllError, NotIncrementalError) as reason:
                _logger.info("'%s' is computed as a whole: %s", self._table.name, reason.message)
            except SPARK_ERRORS as error:
                # Plans over changes are larger than that of the query. What is wrong with rows is told by the whole.
                _logger.warning("'%s' is computed as a whole: %s", self._table.name, plain_words(error), exc_info=True)
        if update is not None:
            yield update
            return
        with self._whole.prepared(step, definition=definition) as whole:
            yield whole

    def _from_changes(self, current: Snapshot, cut: int, definition: str) -> Prepared:
        compiled, plans = self._compiled(), Plans(self._states.session)
        tables = [self._store.table(state_beside(self._table, at)) for at in range(len(compiled.stateful))]
        number = next_number(self._stored, tables, at=self._clock())
        # Before anybody asks what has changed: what lands in a source from here on is for the next update.
        contents = self._states.settle(self._table.name)
        record = current.record
        assert record is not None, "a view that counts says what it is made of"
        # What the query was when the view was computed says the view's own commit, which names what is kept.
        kept = compiled.fingerprint
        known = _known_states(record, tables, kept)
        before = None if known is None else record
        sources = ViewSources(self._states, self._graph, self._table.sources, record=before, cut=cut)
        large = self._is_large(sources, anew=known is None)
        states = KeptStates(plans, tables, snapshots=known, number=number, large=large)
        run = Run(plans, sources, states)
        if known is None:
            everything = compiled.root.state(run, When.AFTER).toDF(*compiled.names)
            exchange = self._made_anew(everything, current, number, large=large)
        else:
            exchange = self._exchanged(run, run.settled(compiled.root), compiled.names, current, number)
        for operator in compiled.stateful:
            operator.prepare(run)
        changes = states.changes()
        now = {table.name: snapshot.number for table, snapshot in zip(tables, known or (), strict=False)}
        now |= {change.table.name: number for change in changes}
        is_revised = self._table.is_reference or cut <= (current.freshness or cut) or self._is_revised(record, contents)
        own = UpdateRecord(
            number=number,
            kind=UpdateKind.REFRESH,
            freshness=cut,
            safe=cut,
            definition=definition,
            sources=sources.consumed,
            contents=contents,
            states=now,
            from_changes=known is not None,
            revised_from=BEGINNING if is_revised else None,
        )
        return self._prepared(own, exchange, changes, kept)

    def _is_large(self, sources: ViewSources, *, anew: bool) -> bool:
        if anew:
            return sources.bytes_whole > self._large_update
        if sources.bytes_changed > self._large_update:
            raise NeedsAllError("Too much has changed to be taken through one process.")
        return False

    def _is_revised(self, record: UpdateRecord, contents: Mapping[str, int]) -> bool:
        """Whether anything but later rows has come."""
        revised_since = self._states.revised_since
        return record.contents != contents or any(
            revised_since(name, record.sources.get(name, 0)) is not None for name in self._table.sources
        )

    def _made_anew(self, frame: DataFrame, current: Snapshot, number: int, *, large: bool) -> Exchange:
        if not large:
            return exchanged(current, collected(frame), self._stored, number=number)
        by = self._table.partition_by
        return Exchange(
            written=write_result(frame, self._stored, number=number, partition_by=by, large=True), replace_all=True
        )

    def _exchanged(
        self, run: Run, changed: Settled | None, names: tuple[str, ...], current: Snapshot, number: int
    ) -> Exchange:
        """Take rows out of the files that have them, and put others in."""
        if changed is None:
            return Exchange(written=Written(files=(), schema=current.schema))
        coming = pc.greater(changed.values.column(SIGN), 0)
        added, gone = (
            changed.values.filter(rows).drop_columns([SIGN]).rename_columns(list(names))
            for rows in (coming, pc.invert(coming))
        )
        if not gone.num_rows:
            return Exchange(written=self._written(added, number))
        files = without(current, gone) or self._by_spark(run, current, gone, names)
        rows = files.left if added.num_rows == 0 else pa.concat_tables([files.left, aligned(added, files.left.schema)])
        expected = sum(file.rows for file in files.touched) - gone.num_rows
        if files.left.num_rows != expected:
            differ = files.left.num_rows - expected
            raise NeedsAllError(f"'{self._table.name}' does not have {differ} rows that have gone from it.")
        return Exchange(written=self._written(rows, number), remove=files.touched)

    def _by_spark(self, run: Run, current: Snapshot, gone: pa.Table, names: tuple[str, ...]) -> Rest:
        frame = run.plans.local(gone, run.plans.schema_of(gone.schema))
        touched = self._touched(current, frame, names)
        if sum(file.size for file in touched) > self._large_update:
            raise NeedsAllError("Too much of the view would have to be written anew.")
        rest = read_files(self._states.session, current, touched).select(*map(quoted, names)).exceptAll(frame)
        return Rest(left=collected(rest), touched=touched)

    def _touched(self, current: Snapshot, gone: DataFrame, names: tuple[str, ...]) -> tuple[DataFile, ...]:
        """The files that have rows which go."""
        rows = with_file(read_files(self._states.session, current, current.files))
        same = [rows[quoted(name)].eqNullSafe(gone[quoted(name)]) for name in names]
        found = rows.join(functions.broadcast(gone), same, "left_semi").select(rows.columns[-1]).distinct()
        return files_named(current.files, collected(found))

    def _written(self, rows: pa.Table, number: int) -> Written:
        files = self._stored.write(rows, number=number, partition_by=self._table.partition_by) if rows.num_rows else ()
        return Written(files=tuple(files), schema=rows.schema)

    def _prepared(self, record: UpdateRecord, exchange: Exchange, changes: list[StateChange], kept: str) -> Prepared:
        at = self._clock()
        own = Change(
            record=record,
            at=at,
            schema=exchange.written.schema,
            partition_by=self._table.partition_by,
            add=exchange.written.files,
            remove=exchange.remove,
            replace_all=exchange.replace_all,
        )
        beside = UpdateRecord(
            number=record.number, kind=record.kind, freshness=record.freshness, safe=record.safe, definition=kept
        )
        return Prepared(
            own=(self._stored, own),
            beside=tuple(
                (
                    change.table,
                    Change(
                        record=beside,
                        at=at,
                        schema=change.schema,
                        add=change.add,
                        remove=change.remove,
                        replace_all=change.replace_all,
                    ),
                )
                for change in changes
            ),
        )


def _counts(current: Snapshot, definitions: Set[str | None]) -> bool:
    """Whether what a view holds is what its query gave over some state of its sources."""
    record = current.record
    return record is not None and current.freshness is not None and record.definition in definitions


def _known_states(record: UpdateRecord, tables: list[StoredTable], kept: str) -> list[Snapshot] | None:
    """What the tables of what is kept hold, where the view's commit names it; None where it is to be made anew."""
    found: list[Snapshot] = []
    for table in tables:
        snapshot = table.snapshot
        if snapshot is None or snapshot.number != record.states.get(table.name) or not snapshot.is_whole():
            return None
        if snapshot.record is None or snapshot.record.definition != kept:
            return None
        found.append(snapshot)
    return found
