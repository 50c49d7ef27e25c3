"""A flow as the load of a base table: what an update takes in is its source, and one of its targets is the table.

The rows for the table are written as those of any load. The load commits them, with the flow's other targets and with
what was put aside, through one journal: all of it or nothing, whatever happens in between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshtide.core.errors import FreshtideError
from freshtide.core.tables import Table
from freshtide.flows import FlowGraph, Node
from freshtide.flows.activities import OUT, Read, Write
from freshtide.flows.policies import MIXED
from freshtide.spark.flows.failures import ActivityError
from freshtide.spark.flows.holding import Scratch
from freshtide.spark.flows.moments import Moment, fixed_time
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.flows.running import Running
from freshtide.spark.flows.schemas import columns_of_targets, reads_of
from freshtide.spark.flows.surroundings import Surroundings
from freshtide.spark.flows.targets import Target, targets_of
from freshtide.spark.schemas import arrow_schema_of
from freshtide.spark.writing import Written, write_result
from freshtide.storage import (
    Commit,
    Store,
    StoredTable,
    TableCommit,
    finish_interrupted,
    is_unfinished,
    journal_folder,
)


class AwaitedTableError(FreshtideError):
    """A flow reads a table that has no data yet: it is to wait for it."""

    def __init__(self, table: str, *, flow: str, awaited: str) -> None:
        super().__init__(
            f"'{table}' waits: its flow '{flow}' reads the table '{awaited}', which has no data yet.",
            way_out="It goes on by itself when that is loaded.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingFlows:
    """The flows that load tables, by name, and what they work with."""

    flows: Mapping[str, FlowGraph]
    store: Store
    root: Path
    scratch: Path
    """A folder for the scratch folders of all flows."""
    policy: str = MIXED

    def of(self, table: Table) -> TableFlow | None:
        """The flow that loads a table, if one does."""
        return None if table.flow is None else TableFlow(graph=self.flows[table.flow], table=table, flows=self)

    def run_by_hand(
        self, name: str, session: SparkSession, declared: Mapping[str, StructType]
    ) -> Mapping[str, StructType] | None:
        """The columns of what a flow writes that loads no table; None as long as a source of it has none."""
        recordsets = Recordsets(session=session, store=self.store, root=self.root, declared=declared)
        return columns_of_targets(self.flows[name], recordsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowedRows:
    """What came out of a flow, on disk and not committed yet."""

    rows_in: int
    written: Written
    """For the table."""
    others: Sequence[Commit]
    """The other targets."""
    anew: bool
    folder: Path
    store: Store

    def targets(self, before: Mapping[str, int]) -> dict[str, int]:
        """The number that each table among the other targets comes to, counted on from what it should have before.

        So what a table has lost stays lost, however often it is added to. A run `anew` begins with what there is.
        """
        found = {name: self._held(name) for name in before} if self.anew else dict(before)
        for commit in self.others:
            if isinstance(commit, TableCommit):
                held = self._held(commit.table)
                found[commit.table] = found.get(commit.table, held) + commit.change.record.number - held
        return found

    def _held(self, name: str) -> int:
        snapshot = self.store.table(name).snapshot
        return 0 if snapshot is None else snapshot.number


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFlow:
    """The flow that loads one table."""

    graph: FlowGraph
    table: Table
    flows: LoadingFlows

    def columns(
        self, session: SparkSession, rows: DataFrame, declared: Mapping[str, StructType]
    ) -> Mapping[str, StructType] | None:
        """The columns of the table and of the others that the flow writes, from those of the rows that go into it.

        None as long as another source of the flow has no data, and so no columns either.
        """
        return columns_of_targets(self.graph, self._recordsets(session, rows, declared))

    @property
    def folder(self) -> Path:
        return journal_folder(self.flows.scratch, self.graph.name, self.flows.store)

    def finish(self) -> bool:
        """Commit what an earlier run had decided to commit and could not; whether there was anything."""
        unfinished = is_unfinished(self.folder, self.flows.store)
        finish_interrupted([self.folder], self.flows.store)
        return unfinished

    def awaits(self) -> str | None:
        """A table that the flow reads and that has never been written; None: it can run."""
        read = [node.activity.source.table for node in self._reads if isinstance(node.activity, Read)]
        missing = (name for name in read if name is not None and self.flows.store.table(name).snapshot is None)
        return next(missing, None)

    @contextmanager
    def carried_out(
        self,
        session: SparkSession,
        rows: DataFrame,
        stored: StoredTable,
        *,
        number: int,
        large: bool,
        anew: bool,
        now: Callable[[], float],
    ) -> Iterator[FlowedRows]:
        """Put rows through the flow; within they can be committed. With `anew` they are all that ever arrived."""
        assert not is_unfinished(self.folder, self.flows.store), (
            "what was decided on is finished, and booked, before more is read"
        )
        awaited = self.awaits()
        if awaited is not None:
            raise AwaitedTableError(self.table.name, flow=self.graph.name, awaited=awaited)
        moment = Moment(now())
        recordsets = self._recordsets(session, fixed_time(rows), {})
        running = Running(policy=self.flows.policy)
        schemas, passing = running.analysed(self.graph, recordsets, moment)
        own = LoadTarget(
            stored,
            schemas.by_target[self._write.name],
            activity=self._write.name,
            number=number,
            partition_by=self.table.partition_by,
            large=large,
        )
        given: Mapping[str, Target] = {self._write.name: own}
        sources = {self.table.name: number}
        surroundings = Surroundings(
            graph=self.graph,
            recordsets=recordsets,
            schemas=schemas,
            scratch=Scratch(self.folder, session, self.flows.store.disk),
            targets=targets_of(
                self.graph, recordsets, schemas.by_target, appending=True, anew=anew, given=given, sources=sources
            ),
            passing=passing,
            time_column=self.table.time_column,
            anew=anew,
            moment=moment,
        )
        with running.carried_out(surroundings) as record:
            yield FlowedRows(
                rows_in=record.tallies[self._source.name].rows_out[OUT],
                written=own.written,
                others=surroundings.prepare(now()),
                anew=anew,
                folder=surroundings.scratch.folder,
                store=self.flows.store,
            )

    def _recordsets(self, session: SparkSession, rows: DataFrame, declared: Mapping[str, StructType]) -> Recordsets:
        return Recordsets(
            session=session,
            store=self.flows.store,
            root=self.flows.root,
            arrived={str(self.table.feed).lower(): rows},
            declared=declared,
        )

    @property
    def _reads(self) -> list[Node]:
        return reads_of(self.graph)

    @property
    def _source(self) -> Node:
        (source,) = (n for n in self._reads if isinstance(n.activity, Read) and n.activity.source.feed is not None)
        return source

    @property
    def _write(self) -> Node:
        own = ("table", self.table.name.lower())
        (write,) = (n for n in self.graph.writes if isinstance(n.activity, Write) and n.activity.target.key == own)
        return write


class LoadTarget(Target):
    """The base table that a flow loads."""

    def __init__(
        self,
        table: StoredTable,
        schema: StructType,
        *,
        activity: str,
        number: int,
        partition_by: tuple[str, ...],
        large: bool,
    ) -> None:
        self._table = table
        self._activity = activity
        self._number = number
        self._partition_by = partition_by
        self._large = large
        self._is_prepared = False
        self.written = Written(files=(), schema=arrow_schema_of(schema))

    def write(self, frame: DataFrame) -> None:
        more = write_result(frame, self._table, number=self._number, partition_by=self._partition_by, large=self._large)
        self.written = Written(files=(*self.written.files, *more.files), schema=self.written.schema)
        self._require_time(more)

    def staged_rows(self) -> int:
        return self.written.rows

    def prepare(self, *, at: float) -> None:  # noqa: ARG002 - the commit of the load bears the moment
        """The load commits it: what is to be said about it is known there."""
        self._is_prepared = True

    def discard(self) -> None:
        if self._is_prepared:
            return  # A commit may name them by now; if none does, they go with the next vacuum.
        self._table.discard(self.written.files)

    def _require_time(self, written: Written) -> None:
        """Views cut a table by its time column: a row without a time would never be in any of them."""
        column = self._table.time_column
        missing = sum(json.loads(file.stats).get("nullCount", {}).get(column, 0) for file in written.files)
        if missing:
            verb = "has" if missing == 1 else "have"
            problem = f"{missing} of the rows for '{self._table.name}' {verb} no time in '{column}'."
            raise ActivityError(self._activity, "its input", problem)
