"""Single rows on their way from stream sources into the queues of update tables."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from freshtide.catalog import Catalog
from freshtide.core.commands import StartUpdate
from freshtide.core.durations import format_duration
from freshtide.core.events import DataArrived, Event
from freshtide.core.feeds import Feed
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.feeds.sources import RejectedRow, StreamRow, StreamSet
from freshtide.runtime.units import UnitWorker
from freshtide.spark import LatestStreams, LatestTableRunner
from freshtide.world import Clock, Mailbox

_logger = logging.getLogger(__name__)


class RowIntake:
    """Takes the rows of one feed, on the thread of its stream, and tells the engine when there is something to do."""

    def __init__(
        self,
        feed: Feed,
        runners: Sequence[LatestTableRunner],
        *,
        graph: TableGraph,
        events: Mailbox[Event],
        book: Callable[[str], None],
        clock: Clock,
    ) -> None:
        """`book` writes down what waits for a table."""
        self._feed = feed
        self._book = book
        self._runners = runners
        self._graph = graph
        self._events = events
        self._clock = clock

    def take(self, rows: Sequence[StreamRow]) -> None:
        now = self._clock.onward()
        latest = self._latest_allowed()
        beyond = [RejectedRow(row.content, self._of_the_future()) for row in rows if row.time > latest]
        if beyond:
            self.reject(beyond)
        offered = [(row.time, row.values, row.content) for row in rows if row.time <= latest]
        for runner in self._runners if offered else ():
            announce = partial(self._announce, runner, now)
            runner.stream.offer(offered, source=self._feed.name, at=now, announce=announce)

    def reject(self, rejected: Sequence[RejectedRow]) -> None:
        now = self._clock.onward()
        told = [(row.content, row.reason) for row in rejected]
        for runner in self._runners:
            announce = partial(self._announce, runner, now)
            runner.stream.reject(told, source=self._feed.name, announce=announce)

    def _latest_allowed(self) -> float:
        """The newest time that a row may bear which comes now: one from far ahead would outlast all that follow."""
        limit = self._feed.time.future_limit
        return math.inf if limit is None else self._clock.now() + limit

    def _of_the_future(self) -> str:
        limit = format_duration(self._feed.time.future_limit or 0.0)
        return f"column '{self._feed.time.column}': the time is more than {limit} ahead of the clock"

    def _announce(self, runner: LatestTableRunner, now: float) -> None:
        self._book(runner.table.name)
        self._events.put(announcement(runner, self._graph, now))


def announcement(runner: LatestTableRunner, graph: TableGraph, now: float) -> DataArrived:
    """The event that tells of what waits for an update table."""
    pending = runner.stream.pending
    return DataArrived(
        table=graph.units.of(runner.table.name),
        timestamp=0.0 if pending.timestamp is None else pending.timestamp,
        at=now if pending.since is None else pending.since,
    )


class SingleRows:
    """The stream sources of a warehouse during one run, and what waits for the update tables."""

    def __init__(
        self,
        feeds: Mapping[str, Feed],
        runners: LatestStreams,
        worker: UnitWorker,
        *,
        graph: TableGraph,
        catalog: Catalog,
        events: Mailbox[Event],
        clock: Clock,
    ) -> None:
        self._feeds = feeds
        self._runners = runners
        self._worker = worker
        self._catalog = catalog
        self._clock = clock
        self._graph = graph
        self._events = events

        def intake(feed: Feed) -> RowIntake:
            readers = [runners[table.name] for table in graph.for_feed(feed.name)]
            return RowIntake(feed, readers, graph=graph, events=events, book=worker.book_stream, clock=clock)

        self._sources = StreamSet(feeds.values(), intake)

    def start(self) -> None:
        for runner in self._runners.values():
            runner.stream.open()
            if not runner.stream.is_quiet:
                self._events.put(announcement(runner, self._graph, self._clock.onward()))
        self._sources.start()

    def follow(
        self, runners: LatestStreams, worker: UnitWorker, *, feeds: Mapping[str, Feed], graph: TableGraph
    ) -> None:
        """There are more update tables from now on. Their rows come in files: streams are what they were."""
        added = [runner for name, runner in runners.items() if name not in self._runners]
        self._feeds, self._graph, self._worker, self._runners = feeds, graph, worker, runners
        for runner in added:
            runner.stream.open()

    def stop(self) -> None:
        """Take no more rows; those that wait for room are not waited for."""
        for runner in self._runners.values():
            runner.stream.close()
        self._sources.stop()

    @property
    def is_quiet(self) -> bool:
        """Whether no row is on its way."""
        return self._sources.quiet

    @property
    def faults(self) -> dict[str, tuple[str, ...]]:
        """What keeps rows from coming, by feed."""
        return self._sources.faults

    @property
    def fault(self) -> BaseException | None:
        return self._sources.fault

    def waiting(self) -> list[Table]:
        """The update tables that an update would find something to do for, unless they are paused or given up."""
        tables = [runner.table for runner in self._runners.values() if not runner.stream.is_quiet]
        return [table for table in tables if self._catalog.tables.get(table.name).status == "active"]

    def drain(self) -> None:
        """Process rows that were taken from streams and are nowhere else. Those of files will be read again."""
        for table in self.waiting():
            if table.feed is None or self._feeds[table.feed].brings_files:
                continue
            command = StartUpdate(table=table.name, track=0, upto=self._clock.now())
            while any(isinstance(event, DataArrived) for event in self._worker.carry_out(command)):
                pass

    def leave_behind(self) -> None:
        """Keep what still waits, such as for a table that is paused, until the next run."""
        lost: set[str | None] = set()
        for runner in self._runners.values():
            try:
                runner.leave_behind()
            except Exception:
                _logger.exception("The rows that wait for '%s' could not be kept, and are lost.", runner.table.name)
                lost.add(runner.table.feed)
        for feed in self._feeds.values():
            if not feed.brings_files and feed.name not in lost:
                self._sources.acknowledge(feed.name)
        for name, rows in self._sources.unacknowledged.items():
            _logger.warning("Of the feed '%s', %d rows are not known to be kept.", name, rows)
