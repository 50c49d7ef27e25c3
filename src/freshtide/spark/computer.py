"""Spark at work on updates: it computes them and writes their files. What makes them visible is not its business."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from freshtide.core.arrivals import Arrival
from freshtide.core.choosing import Way
from freshtide.core.cuts import Cuts
from freshtide.core.definitions import FormerRows
from freshtide.core.errors import FreshtideError, LeaseLostError, SurroundingsError
from freshtide.core.feeds import Column, Feed
from freshtide.core.graph import TableGraph
from freshtide.core.instants import micros
from freshtide.core.steps import ComputedStep, Load, Merge, Refresh, TakeIn
from freshtide.core.tables import Maintenance, Table
from freshtide.spark.asof import TableStates
from freshtide.spark.discovery import discovered_columns
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.flows.loads import LoadingFlows
from freshtide.spark.health import SparkHealth
from freshtide.spark.incremental import against, compiled_query
from freshtide.spark.ingest import WatchFiles
from freshtide.spark.latest.listeners import Listeners
from freshtide.spark.latest.serving import LatestStreams, QueueMaker
from freshtide.spark.latest.tables import LatestTables
from freshtide.spark.loading import BaseTableLoader
from freshtide.spark.maintenance import IncrementalViewMaintainer, LatestViewMaintainer, ViewMaintainer
from freshtide.spark.scans import SharedScans
from freshtide.spark.schemas import TableSchemas, arrow_schema_of
from freshtide.spark.sessions import SparkTracks
from freshtide.spark.unreadable import KnownGood
from freshtide.storage import Prepared, Store


class UpdateError(FreshtideError):
    """An update that failed, in words for the user."""


class SparkComputer:
    """Computes the steps of updates, on the calling thread's track."""

    def __init__(
        self,
        tracks: SparkTracks,
        *,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        store: Store,
        schemas: TableSchemas,
        definitions: Mapping[str, str],
        former: Mapping[str, FormerRows],
        flows: LoadingFlows,
        large_update: int,
        update_memory: int,
        clock: Callable[[], float],
        listeners: Listeners,
        make_queue: QueueMaker,
        spool: Path,
        watch: WatchFiles,
        beside: SparkComputer | None = None,
    ) -> None:
        """`former` are rows of views that say what their queries give, though these are others by now.

        `beside` is one for an earlier version of the same project, whose tables with an update key this one has too:
        what waits for them in memory, and what is known of their keys, is common to both.
        """
        self._watch = watch
        self._listeners = listeners
        if beside is None:
            self._latest: LatestTables = LatestTables(graph, store)
            self.health: SparkHealth = SparkHealth(tracks)
        else:
            self._latest, self.health = beside._latest, beside.health
            self._latest.follow(graph)
        self.streams: LatestStreams = LatestStreams(
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
            beside=None if beside is None else beside.streams,
        )
        self._tracks = tracks
        self._feeds = feeds
        self._graph = graph
        self._cuts = Cuts(graph)
        self._store = store
        self._schemas = schemas
        self._definitions = definitions
        self.former = former
        self._flows = flows
        self._large_update = large_update
        self._clock = clock

    def columns(self, table: str) -> pa.Schema | None:
        """What an update of a table would write; None where nobody knows yet."""
        return arrow_schema_of(self._schemas.of(table)) if self._schemas.types(table) is not None else None

    @contextmanager
    def prepared(self, step: ComputedStep, *, pool: str, scans: SharedScans | None = None) -> Iterator[Prepared | None]:
        """Compute a step; None where it leaves nothing to be committed. Within, what it has written can land."""
        with self._in_words():
            match step:
                case Load():
                    with self._loader(step, pool, scans).prepared(step, definition=self._definition(step)) as update:
                        yield update
                case Refresh():
                    maintainer = self._refresher(step, self.states(pool, scans=scans))
                    with maintainer.prepared(step, definition=self._definition(step)) as update:
                        yield update
                case TakeIn():
                    self.streams[step.table.name].take_in(self._session(pool), step.files, step.extra)
                    yield None
                case Merge():
                    runner, session = self.streams[step.table.name], self._session(pool)
                    merging = runner.rebuilt(session, step.files, step.extra) if step.rebuild else None
                    with merging or runner.prepared(session, step.extra) as merged:
                        yield merged

    @contextmanager
    def together(self, names: Sequence[str], *, pool: str, rebuild: bool = False) -> Iterator[SharedScans]:
        """Scans for the tables of a group to share while they are updated one after another."""
        since: dict[str, int | None] = {}
        for table in (self._graph[name] for name in names):
            if table.is_base:
                continue
            maintainer = self._maintainer(table, self.states(pool))
            start = maintainer.reads_from(definition=self._definitions[table.name], rebuild=rebuild)
            for source in table.timed_sources:
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

    def finish(self, name: str) -> bool:
        """Commit what the flow of a table had decided to commit and could not; whether there was anything."""
        flow = self._flows.of(self._graph[name])
        return flow is not None and flow.finish()

    def awaits(self, name: str) -> str | None:
        """A table without data that the load of a table needs; None: it can go on."""
        flow = self._flows.of(self._graph[name])
        return None if flow is None else flow.awaits()

    def discovered_columns(
        self, feed: str, files: Sequence[Arrival], *, known: tuple[Column, ...], pool: str
    ) -> tuple[Column, ...]:
        """Columns that files of a feed have beyond those that are known of it."""
        with self._in_words():
            session, declared = self._session(pool), self._feeds[feed]
            known_good = KnownGood(session=session, feed=declared, tables=self._store.root)
            return discovered_columns(session, declared, files, known, known_good=known_good)

    def states(self, pool: str, *, scans: SharedScans | None = None) -> TableStates:
        """Readable states of all tables, in the calling thread's session."""
        return TableStates(self._session(pool), self._graph, self._store, self._schemas, scans=scans)

    def _loader(self, step: Load, pool: str, scans: SharedScans | None) -> BaseTableLoader:
        table = step.table
        assert table.feed is not None, f"{table.name} is not a base table"
        return BaseTableLoader(
            self._session(pool),
            table,
            self._feeds[table.feed],
            self._store,
            extra=step.extra,
            large_update=self._large_update,
            clock=self._clock,
            watch=self._watch,
            scans=scans,
            flow=self._flows.of(table),
        )

    def against_changes(self, name: str, *, pool: str) -> str | None:
        """The operator of a view's query that there is no rule for; None: updates of it can follow changes."""
        with self._in_words():
            try:
                return against(self._session(pool), self._graph[name], self._schemas)
            except SPARK_ERRORS:
                if self.health.gone() is not None:
                    raise
                return "what Spark cannot plan by itself"

    def _refresher(
        self, step: Refresh, states: TableStates
    ) -> ViewMaintainer | IncrementalViewMaintainer | LatestViewMaintainer:
        table = step.table
        if table.is_latest:
            return LatestViewMaintainer(table, self._latest, states, clock=self._clock, listeners=self._listeners)
        whole = self._maintainer(table, states)
        if table.maintain is not Maintenance.INCREMENTAL and step.way in (None, Way.FULL):
            return whole
        return IncrementalViewMaintainer(
            whole,
            table,
            self._store.table(table.name, time_column=table.time_column),
            states,
            graph=self._graph,
            store=self._store,
            compiled=lambda: compiled_query(states.session, table, self._schemas),
            large_update=self._large_update,
            clock=self._clock,
        )

    def _maintainer(self, table: Table, states: TableStates) -> ViewMaintainer:
        stored = self._store.table(table.name, time_column=table.time_column)
        return ViewMaintainer(
            table,
            stored,
            states,
            self._cuts,
            former=self.former.get(table.name),
            large_update=self._large_update,
            clock=self._clock,
        )

    def _definition(self, step: Load | Refresh) -> str:
        return self._definitions[step.table.name]

    def _session(self, pool: str) -> SparkSession:
        return self._tracks.session(pool)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
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
