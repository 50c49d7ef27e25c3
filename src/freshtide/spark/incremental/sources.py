"""The sources of a view: two states of each, and what lies between them.

A table that only appends is cut by time. Of any other table a version is read: the one that the view's last commit
names, and the one of just the cut. Where files differ between two versions, their rows tell what has come and gone;
rows that were only written to other files do both, and drop out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from freshtide.core.cuts import Cuts
from freshtide.core.graph import TableGraph
from freshtide.spark.asof import TableStates
from freshtide.spark.incremental.athand import FEW_IN_ONE_PLACE, Bounds, FewRows, rows_at_hand
from freshtide.spark.incremental.operators import Keys, NeedsAllError, When, restricted, union
from freshtide.spark.incremental.plans import SIGN, Plans, column, sign_field, signed
from freshtide.spark.jvm import jvm_of
from freshtide.spark.reading import empty_frame, read_files, schema_of, stamped_before, stamped_from
from freshtide.spark.schemas import quoted
from freshtide.storage import DataFile, Snapshot, UpdateRecord, aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A version of a table, and before which time stamp its rows are asked for; None: all."""

    snapshot: Snapshot | None
    before: int | None = None

    @property
    def files(self) -> tuple[DataFile, ...]:
        return () if self.snapshot is None else self.snapshot.between(None, self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Rows of some files that are stamped in [since, before), and whether they have come or gone."""

    snapshot: Snapshot
    files: tuple[DataFile, ...]
    since: int | None = None
    before: int | None
    sign: int = 1

    @property
    def lower_bound(self) -> int | None:
        """Where rows have to be looked at one by one; None: all are stamped later."""
        since = self.since
        return since if since is not None and any(file.low is None or file.low < since for file in self.files) else None

    @property
    def upper_bound(self) -> int | None:
        until = self.before
        within = until is None or all(file.high is not None and file.high < until for file in self.files)
        return None if within else until


class ViewSources:
    """What a view reads, between the cut that it has come to and another one."""

    def __init__(
        self,
        states: TableStates,
        graph: TableGraph,
        names: Sequence[str],
        *,
        record: UpdateRecord | None,
        cut: int,
    ) -> None:
        """`record` says what the view has been computed from; None: it is made anew, and has no past."""
        self._states = states
        self._graph = graph
        self._cuts = Cuts(graph)
        self._after = {name: self._reached(name, cut) for name in names}
        self._before: dict[str, _State] = {}
        if record is not None:
            self._before = {name: self._left(name, record) for name in names}

    @property
    def consumed(self) -> dict[str, int]:
        """The update of each source that is in the later state."""
        return {name: state.snapshot.number for name, state in self._after.items() if state.snapshot is not None}

    @property
    def bytes_changed(self) -> int:
        return sum(
            sum(file.size for file in files)
            for name in self._after
            for files in (self._new_files(name), self._gone_files(name))
        )

    @property
    def bytes_whole(self) -> int:
        return sum(file.size for state in self._after.values() for file in state.files)

    def has_few(self) -> bool:
        return self.bytes_changed <= FEW_IN_ONE_PLACE

    def changes(self, name: str, columns: Sequence[str]) -> DataFrame | None:
        parts = self._changed_parts(name)
        found = [(self._few(name, columns, part), part.sign) for part in parts]
        few = [(rows, sign) for rows, sign in found if rows is not None]
        if len(few) == len(parts):
            return self._together(few)
        return union([signed(self._rows(name, columns, part), part.sign) for part in parts])

    def _changed_parts(self, name: str) -> list[_Part]:
        """What has come, and what has gone."""
        before, after = self._before[name], self._after[name]
        parts: list[_Part] = []
        if after.snapshot is not None:
            old = {file.path for file in before.files}
            new = tuple(file for file in after.files if file.path not in old)
            since = before.before
            common = tuple(file for file in after.files if file.path in old and self._gains(file, since, after.before))
            parts = [
                _Part(snapshot=after.snapshot, files=new, before=after.before),
                _Part(snapshot=after.snapshot, files=common, since=since, before=after.before),
            ]
        if before.snapshot is not None:
            gone = self._gone_files(name)
            parts.append(_Part(snapshot=before.snapshot, files=gone, before=before.before, sign=-1))
        return [part for part in parts if part.files]

    def _together(self, parts: Sequence[tuple[FewRows, int]]) -> DataFrame | None:
        """Rows that are at hand, with their signs; None where there is none."""
        tables = [
            few.rows.append_column(SIGN, pa.array(np.full(few.rows.num_rows, sign, dtype=np.int32)))
            for few, sign in parts
        ]
        if not sum(table.num_rows for table in tables):
            return None
        schema = StructType([*parts[0][0].schema.fields, sign_field()])
        first, *others = tables
        rows = pa.concat_tables([first, *(aligned(other, first.schema) for other in others)])
        return Plans(self._states.session).local(rows, schema)

    def state(self, name: str, columns: Sequence[str], when: When, keys: Keys | None) -> DataFrame:
        state = (self._before if when is When.BEFORE else self._after)[name]
        if state.snapshot is None:
            schema = self._states.schema(name)
            return self._named(empty_frame(self._states.session, schema), schema.names, columns)
        part = _Part(snapshot=state.snapshot, files=state.files, before=state.before)
        few = self._few(name, columns, part, keys)
        if few is not None:
            return Plans(self._states.session).local(few.rows, few.schema)
        return restricted(self._rows(name, columns, part), keys)

    def _reached(self, name: str, cut: int) -> _State:
        snapshot, before = self._states.pin(name), None
        if snapshot is not None and not self._is_read_as_it_is(name):
            if self._cuts.appends_only(name):
                before = self._bounded(name, cut)
            elif snapshot.freshness != cut:
                snapshot = self._states.version_of(name, cut)
                if snapshot is None:
                    raise NeedsAllError(f"No version of '{name}' is as fresh as the view is to be.")
        if not self._states.counts(name, snapshot):
            raise NeedsAllError(f"'{name}' has been computed with other reference data.")
        return _State(snapshot=snapshot, before=before)

    def _is_read_as_it_is(self, name: str) -> bool:
        return self._graph[name].is_reference or self._graph.is_update_stream(name)

    def _left(self, name: str, record: UpdateRecord) -> _State:
        """The state that the view was computed from."""
        before, seen, freshness = None, record.sources.get(name), record.freshness
        assert freshness is not None, "what has been computed is up to some time"
        if not self._is_read_as_it_is(name) and self._cuts.appends_only(name):
            before = self._bounded(name, freshness)
            if seen is not None and self._states.revised_since(name, seen) is None:
                # Nothing but later rows has come: the newest version has those of before as well.
                return _State(snapshot=self._states.pin(name), before=before)
        if seen is None:
            return _State(snapshot=None)
        found = self._states.after(name, seen)
        if found is None:
            raise NeedsAllError(f"What '{name}' held after its update {seen} is not kept any more.")
        if not self._is_read_as_it_is(name) and not _was_read(found, record, is_cut=before is not None):
            raise NeedsAllError(f"'{name}' was not read as it was stored.")
        return _State(snapshot=found, before=before)

    def _bounded(self, name: str, cut: int) -> int | None:
        return self._cuts.closed_before(name, cut)

    def _new_files(self, name: str) -> tuple[DataFile, ...]:
        old = {file.path for file in self._before[name].files} if self._before else set()
        since, before = (self._before[name].before if self._before else None), self._after[name].before
        return tuple(
            file for file in self._after[name].files if file.path not in old or self._gains(file, since, before)
        )

    def _gone_files(self, name: str) -> tuple[DataFile, ...]:
        if not self._before:
            return ()
        new = {file.path for file in self._after[name].files}
        return tuple(file for file in self._before[name].files if file.path not in new)

    def _gains(self, file: DataFile, since: int | None, before: int | None) -> bool:
        """Whether a file that both states have may have rows that only the later one asks for."""
        return since is not None and file.may_hold(since, before)

    def _few(self, name: str, columns: Sequence[str], part: _Part, keys: Keys | None = None) -> FewRows | None:
        bounds = Bounds(column=self._graph[name].time_column, since=part.lower_bound, before=part.upper_bound)
        found = rows_at_hand(part.snapshot, part.files, columns, bounds=bounds, keys=keys)
        if found is not None:
            self._states.bytes_read += sum(file.size for file in part.files)
        return found

    def _rows(self, name: str, columns: Sequence[str], part: _Part) -> DataFrame:
        frame = read_files(self._states.session, part.snapshot, part.files)
        self._states.bytes_read += sum(file.size for file in part.files)
        time_column, since, before = self._graph[name].time_column, part.lower_bound, part.upper_bound
        if time_column is not None and since is not None:
            frame = stamped_from(frame, time_column, since)
        if time_column is not None and before is not None:
            frame = stamped_before(frame, time_column, before)
        return self._named(frame, schema_of(part.snapshot).names, columns)

    def _named(self, frame: DataFrame, known: Iterable[str], names: Iterable[str]) -> DataFrame:
        """These columns, called by their places; one that was not there yet has no values."""
        there = {name.lower() for name in known}
        found = [
            f"{quoted(name) if name.lower() in there else 'NULL'} AS {column(place)}"
            for place, name in enumerate(names)
        ]
        return jvm_of(self._states.session).select(frame, found)


def _was_read(found: Snapshot, record: UpdateRecord, *, is_cut: bool) -> bool:
    """Whether a version is what a view has read, and did not compute from what is below it."""
    contents = {} if found.record is None else found.record.contents
    same = all(record.contents.get(name, number) == number for name, number in contents.items())
    return same and (is_cut or found.freshness == record.freshness)
