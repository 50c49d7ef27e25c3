"""Updates of update tables: what has arrived is read, a micro-batch of it comes into the table, the rest waits on."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from freshtide.catalog import Catalog
from freshtide.clock import SystemClock
from freshtide.core.commands import StartUpdate
from freshtide.core.errors import FreshtideError
from freshtide.core.events import DataArrived
from freshtide.core.feeds import Column, Feed, SchemaChange
from freshtide.core.files import FeedFile, FileState
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.runs import look_at, pending_announcements, to_rebuild_from
from freshtide.runtime.absences import Absences
from freshtide.runtime.booking import stream_row
from freshtide.runtime.gained import gained_columns
from freshtide.runtime.outcomes import FILES_AT_ONCE, Done, pool_of
from freshtide.runtime.pieces import AIM, PieceSizes
from freshtide.runtime.suspects import Suspects
from freshtide.runtime.unchanged import ChangedFilesError
from freshtide.spark import UnreadableFilesError, UpdateExecutor


class NothingKeptError(FreshtideError):
    """A rebuild of a table whose rows were not kept anywhere else."""


class LatestTableWorker:
    """Brings update tables up to date."""

    def __init__(
        self,
        executor: UpdateExecutor,
        *,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        catalog: Catalog,
        suspects: Suspects,
        absences: Absences,
        clock: SystemClock,
    ) -> None:
        self._suspects = suspects
        self._executor = executor
        self._feeds = feeds
        self._graph = graph
        self._catalog = catalog
        self._absences = absences
        self._clock = clock
        self._pieces = PieceSizes()

    def carry_out(self, table: Table, command: StartUpdate) -> Done:
        pool = pool_of(command.track)
        if command.rebuild:
            return self._rebuild(table, pool)
        is_cut = self._take_in(table, pool)
        merged = self._executor.merge(table.name, extra=self._extra(table), pool=pool)
        if merged is None:
            return Done(is_cut=is_cut)
        return Done(outcome=merged.outcome, files=merged.files, is_cut=is_cut)

    def left_over(self, table: Table, done: Done) -> list[DataArrived]:
        """The event that tells of what still waits: the scheduler comes back to it."""
        self.book(table.name)
        stream = self._executor.streams[table.name].stream
        if stream.is_quiet:
            unread = pending_announcements(self._graph.units.of(table.name), [table], self._catalog)
            return unread[:1] if done.is_cut else []
        pending = stream.pending
        timestamp = pending.timestamp if pending.timestamp is not None else 0.0
        return [DataArrived(table=self._graph.units.of(table.name), timestamp=timestamp, at=pending.since)]

    def begin_anew(self, table: Table) -> None:
        """Forget what waits in memory where files hold it: some of it is in the table, and nobody can tell what."""
        if self._feed(table).brings_files:
            self._executor.streams[table.name].begin_anew()

    def book(self, table: str) -> None:
        """Write down what waits, for those who look on."""
        pending = self._executor.streams[table].stream.pending
        standing = {"pending_since": pending.since, "residents": pending.residents, "taken_in": pending.taken_in}
        self._catalog.streams.put(table, stream_row(self._catalog.tables.get(table), **standing))

    def _rebuild(self, table: Table, pool: str) -> Done:
        feed = self._feed(table)
        if not feed.brings_files:
            raise NothingKeptError(
                f"'{table.name}' cannot be rebuilt: the rows of '{feed.name}' came one by one and were not kept.",
                way_out="It changes with the rows that come next.",
            )
        files = to_rebuild_from(table, self._catalog)
        merged = self._executor.merge_anew(table.name, files, extra=self._extra(table), pool=pool)
        return Done(outcome=merged.outcome, files=merged.files)

    def _take_in(self, table: Table, pool: str) -> bool:
        """Read the files that wait before the first of them is served: of each key only the newest row counts.

        They are read in the order of their arrival, which is the same after a crash. Files that turn out unreadable are
        put aside and the others go on; one that is away is waited for. Those that land meanwhile are left for the next
        update: where they land faster than they are read, nothing would ever be served. Of a backlog as much is read as
        some seconds allow, so that each restart finds less of it; the answer is whether some is left.
        """
        stream = self._executor.streams[table.name].stream
        there = {file.id for file in self._catalog.files.pending(table.name)}
        until = self._clock.steady() + AIM
        while not stream.is_full:
            waiting = [
                file
                for file in self._catalog.files.pending(table.name)
                if file.id in there and not stream.has_taken(file.id)
            ]
            if waiting and self._clock.steady() > until:
                return True
            most = min(self._suspects.most(table.name, FILES_AT_ONCE), self._pieces.fitting(table.name, waiting))
            standing = look_at(waiting[:most], self._catalog)
            if standing is None:
                continue
            self._absences.note(table.name, standing)
            files = list(takewhile(lambda file: file.state is not FileState.AWAY, standing))
            self._suspects.takes(table.name, files)
            if not files:
                return False
            begun = self._clock.steady()
            try:
                self._discover(table, files, pool)
                self._executor.take_in(table.name, files, extra=self._extra(table), pool=pool)
            except (UnreadableFilesError, ChangedFilesError) as error:
                for file, reason in error.reasons:
                    self._catalog.files.set_state(file.id, FileState.QUARANTINED, reason)
            else:
                self._pieces.measured(table.name, files, self._clock.steady() - begun)
        return False

    def _discover(self, table: Table, files: list[FeedFile], pool: str) -> None:
        feed = self._feed(table)
        if feed.on_schema_change is SchemaChange.EVOLVE:
            found = self._executor.discovered_columns(feed.name, files, known=self._extra(table), pool=pool)
            self._catalog.files.add_columns(feed.name, found)

    def _extra(self, table: Table) -> tuple[Column, ...]:
        return gained_columns(self._feed(table), self._catalog)

    def _feed(self, table: Table) -> Feed:
        assert table.feed is not None, f"{table.name} is not a base table"
        return self._feeds[table.feed]
