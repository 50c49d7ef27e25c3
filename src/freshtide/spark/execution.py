"""Carrying out updates: the edge between the scheduler's commands and Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from freshtide.core.cuts import Cuts
from freshtide.core.errors import FreshtideError, LeaseLostError, SurroundingsError
from freshtide.core.feeds import Column, Feed
from freshtide.core.files import FeedFile
from freshtide.core.graph import TableGraph
from freshtide.core.instants import micros
from freshtide.core.loads import LoadPlan
from freshtide.core.sides import GONE, OPEN, sides
from freshtide.core.tables import Maintenance, Table
from freshtide.spark.asof import TableStates
from freshtide.spark.discovery import discovered_columns
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.flows.loads import LoadingFlows
from freshtide.spark.health import SparkHealth
from freshtide.spark.ingest import WatchFiles
from freshtide.spark.latest.listeners import Listeners
from freshtide.spark.latest.serving import LatestStreams, QueueMaker
from freshtide.spark.latest.tables import LatestTables
from freshtide.spark.latest.views import LatestViewMaintainer
from freshtide.spark.loading import BaseTableLoader
from freshtide.spark.maintaining import ViewMaintainer
from freshtide.spark.scans import SharedScans
from freshtide.spark.schemas import TableSchemas
from freshtide.spark.sessions import SparkTracks
from freshtide.storage import LARGEST_FILE, Snapshot, Store, StoredTable, UpdateRecord, compact

ResultT = TypeVar("ResultT")
# Each update writes some of their files anew, and nobody asks for what was superseded.
_PAST_OF_UPDATE_TABLES = 3_600.0
_logger = logging.getLogger(__name__)


class UpdateError(FreshtideError):
    """An update that failed, in words for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOutcome:
    """A committed update."""

    record: UpdateRecord
    version: int
    rows: int
    """Rows in the table after the update."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOutcome:
    """A committed micro-batch of an update table, and the files that it is done with."""

    outcome: UpdateOutcome
    files: tuple[FeedFile, ...]


class UpdateExecutor:
    """Runs updates on the calling thread's track."""

    def __init__(
        self,
        tracks: SparkTracks,
        *,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        store: Store,
        schemas: TableSchemas,
        definitions: Mapping[str, str],
        flows: LoadingFlows,
        large_update: int,
        update_memory: int,
        retention: float,
        clock: Callable[[], float],
        listeners: Listeners,
        make_queue: QueueMaker,
        spool: Path,
        watch: WatchFiles,
    ) -> None:
        self._watch = watch
        self._listeners = listeners
        self._latest = LatestTables(graph, store)
        self.streams = LatestStreams(
            graph,
            feeds,
            store=store,
            latest=self._latest,
            definitions=definitions,
            memory=update_memory,
            clock=clock,
            listeners=listeners,
            make_queue=make_queue,
            spool=spool,
            watch=watch,
        )
        self._tracks = tracks
        self.health = SparkHealth(tracks)
        self._feeds = feeds
        self._graph = graph
        self._cuts = Cuts(graph)
        self._store = store
        self._schemas = schemas
        self._definitions = definitions
        self._flows = flows
        self._large_update = large_update
        self._retention = retention
        self._clock = clock

    @contextmanager
    def together(self, names: Sequence[str], *, pool: str, rebuild: bool = False) -> Iterator[SharedScans]:
        """Scans for the tables of a group to share while they are updated one after another."""
        since: dict[str, int | None] = {}
        for table in (self._graph[name] for name in names):
            if table.is_base:
                continue
            maintainer = self._maintainer(table, self.states(pool))
            start = maintainer.reads_from(definition=self._definitions[table.name], rebuild=rebuild)
            for source in table.sources:
                known = since.get(source, start)
                since[source] = None if start is None or known is None else min(start, known)
        scans = SharedScans(since)
        try:
            yield scans
        finally:
            scans.release()

    def is_there(self, name: str, upto: float, *, pool: str) -> bool:
        """Whether a derived table has what an update to a cut would give it."""
        maintainer = self._maintainer(self._graph[name], self.states(pool))
        return maintainer.is_there(micros(upto), definition=self._definitions[name])

    def load(
        self,
        name: str,
        plan: LoadPlan,
        *,
        extra: tuple[Column, ...],
        pool: str,
        rebuild: bool = False,
        scans: SharedScans | None = None,
    ) -> UpdateOutcome:
        """Load files into a base table."""
        table = self._graph[name]
        assert table.feed is not None, f"{name} is not a base table"
        session = self._in_words(lambda: self._session(pool))
        loader = BaseTableLoader(
            session,
            table,
            self._feeds[table.feed],
            self._store,
            extra=extra,
            large_update=self._large_update,
            clock=self._clock,
            watch=self._watch,
            scans=scans,
            flow=self._flows.of(table),
        )
        return _outcome_of(
            self._in_words(lambda: loader.load(plan, definition=self._definitions[name], rebuild=rebuild))
        )

    def finish(self, name: str) -> bool:
        """Commit what the flow of a table had decided to commit and could not; whether there was anything."""
        flow = self._flows.of(self._graph[name])
        return flow is not None and flow.finish()

    def awaits(self, name: str) -> str | None:
        """A table without data that the load of a table needs; None: it can go on."""
        flow = self._flows.of(self._graph[name])
        return None if flow is None else flow.awaits()

    def take_in(self, name: str, files: Sequence[FeedFile], *, extra: tuple[Column, ...], pool: str) -> None:
        """Let the rows of files wait for an update table."""
        runner = self.streams[name]
        self._in_words(lambda: runner.take_in(self._session(pool), files, extra))

    def merge(self, name: str, *, extra: tuple[Column, ...], pool: str) -> MergeOutcome | None:
        """Bring what waits longest for an update table into it; None where nothing waits."""
        runner = self.streams[name]
        merged = self._in_words(lambda: runner.update(self._session(pool), extra))
        return None if merged is None else MergeOutcome(outcome=_outcome_of(merged.snapshot), files=merged.files)

    def merge_anew(self, name: str, files: Sequence[FeedFile], *, extra: tuple[Column, ...], pool: str) -> MergeOutcome:
        """Let an update table hold what these files alone give."""
        runner = self.streams[name]
        merged = self._in_words(lambda: runner.rebuild(self._session(pool), files, extra))
        return MergeOutcome(outcome=_outcome_of(merged.snapshot), files=merged.files)

    def refresh(
        self, name: str, upto: float, *, pool: str, rebuild: bool = False, scans: SharedScans | None = None
    ) -> UpdateOutcome:
        """Bring a derived table to a cut."""
        table = self._graph[name]
        states = self.states(pool, scans=scans)
        of_keys = table.maintain is Maintenance.LATEST
        maintainer = self._latest_maintainer(table, states) if of_keys else self._maintainer(table, states)
        definition = self._definitions[name]
        return _outcome_of(
            self._in_words(lambda: maintainer.refresh(micros(upto), definition=definition, rebuild=rebuild))
        )

    def states(self, pool: str, *, scans: SharedScans | None = None) -> TableStates:
        """Readable states of all tables, in the calling thread's session."""
        return TableStates(self._tracks.session(pool), self._graph, self._store, self._schemas, scans=scans)

    def _latest_maintainer(self, table: Table, states: TableStates) -> LatestViewMaintainer:
        return LatestViewMaintainer(table, self._latest, states, clock=self._clock, listeners=self._listeners)

    def _maintainer(self, table: Table, states: TableStates) -> ViewMaintainer:
        return ViewMaintainer(
            table,
            self._stored(table),
            states,
            self._cuts,
            large_update=self._large_update,
            clock=self._clock,
        )

    def discovered_columns(
        self, feed: str, files: Sequence[FeedFile], *, known: tuple[Column, ...], pool: str
    ) -> tuple[Column, ...]:
        return self._in_words(lambda: discovered_columns(self._session(pool), self._feeds[feed], files, known))

    def _session(self, pool: str) -> SparkSession:
        return self._tracks.session(pool)

    def tidy(self, name: str) -> None:
        """Housekeeping, after an update has been booked: nobody waits for it but the table's next update."""
        try:
            self._tidy(self._graph[name])
        except Exception:
            # The update has landed: what went wrong afterwards must not make it look as if it had not.
            _logger.warning("Housekeeping of '%s' failed; it is tried again later.", name, exc_info=True)

    def _tidy(self, table: Table) -> None:
        """Housekeeping that keeps the thousandth update as quick as the first."""
        stored = self._stored(table)
        snapshot = stored.snapshot
        if snapshot is None:
            return
        if table.is_latest:
            compact(stored, at=self._clock(), largest=LARGEST_FILE)
        elif table.maintain is not Maintenance.FULL:
            closed = None
            if table.maintain is Maintenance.PARTITIONS and snapshot.freshness is not None:
                closed = self._cuts.closed_before(table.name, snapshot.freshness)
            compact(stored, at=self._clock(), closed_before=closed)
        past = self._retention if not table.is_latest else min(self._retention, _PAST_OF_UPDATE_TABLES)
        stored.keep_house(past, at=self._clock())
        if table.is_base:
            self._tidy_beside(table, snapshot.number, past)

    def _tidy_beside(self, table: Table, number: int, past: float) -> None:
        """The same for what the last load has put aside, if anything."""
        for side in sides(table):
            beside = self._store.table(side)
            if beside.snapshot is not None and beside.snapshot.number == number:
                compact(beside, at=self._clock())
                # What is known of keys is written anew, too. Rejects stay.
                kept = past if side.endswith((GONE, OPEN)) else self._retention
                beside.keep_house(kept, at=self._clock())

    def _in_words(self, update: Callable[[], ResultT]) -> ResultT:
        try:
            return update()
        except (SurroundingsError, LeaseLostError):
            raise
        except Exception as error:
            # Without Spark anything may fail, and in any way: a socket, a file that it has not written.
            gone = self.health.gone()
            if gone is not None:
                raise gone from error
            if isinstance(error, SPARK_ERRORS):
                raise UpdateError(plain_words(error)) from error
            raise

    def _stored(self, table: Table) -> StoredTable:
        return self._store.table(table.name, time_column=table.time_column)


def _outcome_of(snapshot: Snapshot) -> UpdateOutcome:
    record = snapshot.record
    assert record is not None, "a commit carries its record"
    return UpdateOutcome(record=record, version=snapshot.version, rows=snapshot.rows)
