"""The sources of a view: two states of each, and what lies between them.

A table that only appends is cut by time. Of any other table a version is read: the one that the view's last commit
names, and the one of just the cut. Where files differ between two versions, their rows tell what has come and gone;
rows that were only written to other files do both, and drop out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, functions

from freshtide.core.cuts import Cuts
from freshtide.core.graph import TableGraph
from freshtide.spark.asof import TableStates
from freshtide.spark.incremental.operators import Keys, NeedsAllError, When, restricted, union
from freshtide.spark.incremental.plans import columns, signed
from freshtide.spark.reading import empty_frame, read_files, stamped_before, stamped_from
from freshtide.spark.schemas import quoted
from freshtide.storage import DataFile, Snapshot, UpdateRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A version of a table, and before which time stamp its rows are asked for; None: all."""

    snapshot: Snapshot | None
    before: int | None = None

    @property
    def files(self) -> tuple[DataFile, ...]:
        return () if self.snapshot is None else self.snapshot.between(None, self.before)


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

    def changes(self, name: str, columns: Sequence[str]) -> DataFrame | None:
        before, after = self._before[name], self._after[name]
        parts: list[DataFrame] = []
        if after.snapshot is not None:
            old = {file.path for file in before.files}
            new = tuple(file for file in after.files if file.path not in old)
            since = before.before
            common = tuple(file for file in after.files if file.path in old and self._gains(file, since, after.before))
            if new:
                parts.append(signed(self._rows(name, columns, after.snapshot, new, before=after.before), 1))
            if common:
                parts.append(
                    signed(self._rows(name, columns, after.snapshot, common, since=since, before=after.before), 1)
                )
        gone = self._gone_files(name)
        if gone and before.snapshot is not None:
            parts.append(signed(self._rows(name, columns, before.snapshot, gone, before=before.before), -1))
        return union(parts) if parts else None

    def state(self, name: str, columns: Sequence[str], when: When, keys: Keys | None) -> DataFrame:
        state = (self._before if when is When.BEFORE else self._after)[name]
        if state.snapshot is None:
            return self._named(empty_frame(self._states.session, self._states.schema(name)), columns)
        return restricted(self._rows(name, columns, state.snapshot, state.files, before=state.before), keys)

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

    def _rows(
        self,
        name: str,
        columns: Sequence[str],
        snapshot: Snapshot,
        files: tuple[DataFile, ...],
        *,
        since: int | None = None,
        before: int | None,
    ) -> DataFrame:
        """Those rows of some files that are stamped in [since, before)."""
        frame = read_files(self._states.session, snapshot, files)
        self._states.bytes_read += sum(file.size for file in files)
        time_column = self._graph[name].time_column
        if time_column is not None:
            if since is not None and any(file.low is None or file.low < since for file in files):
                frame = stamped_from(frame, time_column, since)
            if before is not None and any(file.high is None or file.high >= before for file in files):
                frame = stamped_before(frame, time_column, before)
        return self._named(frame, columns)

    def _named(self, frame: DataFrame, names: Iterable[str]) -> DataFrame:
        """These columns, called by their places; one that was not there yet has no values."""
        names = list(names)
        known = {name.lower() for name in frame.columns}
        found = [quoted(name) if name.lower() in known else functions.lit(None) for name in names]
        return frame.select(*found).toDF(*columns(len(names)))


def _was_read(found: Snapshot, record: UpdateRecord, *, is_cut: bool) -> bool:
    """Whether a version is what a view has read, and did not compute from what is below it."""
    contents = {} if found.record is None else found.record.contents
    same = all(record.contents.get(name, number) == number for name, number in contents.items())
    return same and (is_cut or found.freshness == record.freshness)
