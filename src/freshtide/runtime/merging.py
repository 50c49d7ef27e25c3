"""Updates of update tables: what has arrived is read, a micro-batch of it comes into the table, the rest waits on."""

from __future__ import annotations

from collections.abc import Mapping

from freshtide.catalog import Catalog
from freshtide.core.commands import StartUpdate
from freshtide.core.errors import FreshtideError
from freshtide.core.events import DataArrived
from freshtide.core.files import FeedFile, FileState
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Column, Feed, SchemaChange, Table
from freshtide.runtime.doing import FILES_AT_ONCE, Done, pool_of
from freshtide.runtime.integrity import put_aside_changed, require_files
from freshtide.runtime.recovery import stream_row
from freshtide.runtime.suspects import Suspects
from freshtide.spark import UnreadableFilesError, UpdateExecutor


class NothingKeptError(FreshtideError):
    """A rebuild of a table whose rows were not kept anywhere else."""


class UpdateTableWorker:
    """Brings update tables up to date."""

    def __init__(
        self,
        executor: UpdateExecutor,
        *,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        catalog: Catalog,
        suspects: Suspects,
    ) -> None:
        self._suspects = suspects
        self._executor = executor
        self._feeds = feeds
        self._graph = graph
        self._catalog = catalog

    def carry_out(self, table: Table, command: StartUpdate) -> Done:
        pool = pool_of(command.track)
        if command.rebuild:
            return self._rebuild(table, pool)
        self._take_in(table, pool)
        merged = self._executor.merge(table.name, extra=self._extra(table), pool=pool)
        return Done() if merged is None else Done(outcome=merged.outcome, files=merged.files)

    def left_over(self, table: Table) -> list[DataArrived]:
        """The event that tells of what still waits: the scheduler comes back to it."""
        self.book(table.name)
        stream = self._executor.streams[table.name].stream
        if stream.is_quiet:
            return []
        pending = stream.pending
        timestamp = pending.timestamp if pending.timestamp is not None else 0.0
        return [DataArrived(table=self._graph.units.of(table.name), timestamp=timestamp, at=pending.since)]

    def book(self, table: str) -> None:
        """Write down what waits, for those who look on."""
        pending = self._executor.streams[table].stream.pending
        standing = {"pending_since": pending.since, "residents": pending.residents, "taken_in": pending.taken_in}
        self._catalog.streams.put(table, stream_row(self._catalog.tables.get(table), **standing))

    def _rebuild(self, table: Table, pool: str) -> Done:
        feed = self._feed(table)
        if feed.stream is not None:
            raise NothingKeptError(
                f"'{table.name}' cannot be rebuilt: the rows of '{feed.name}' came one by one and were not kept.",
                way_out="It changes with the rows that come next.",
            )
        files = self._catalog.files.loaded(table.name)
        require_files(table, files)
        merged = self._executor.merge_anew(table.name, files, extra=self._extra(table), pool=pool)
        return Done(outcome=merged.outcome, files=merged.files)

    def _take_in(self, table: Table, pool: str) -> None:
        """Read all files that wait before the first of them is served: of each key only the newest row counts.

        They are read in the order of their arrival, which is the same after a crash. Files that turn out unreadable are
        put aside and the others go on. Those that land meanwhile are left for the next update: where they land faster
        than they are read, nothing would ever be served.
        """
        stream = self._executor.streams[table.name].stream
        there = {file.id for file in self._catalog.files.pending(table.name)}
        while not stream.is_full:
            waiting = [
                file
                for file in self._catalog.files.pending(table.name)
                if file.id in there and not stream.has_taken(file.id)
            ]
            files = waiting[: self._suspects.most(table.name, FILES_AT_ONCE)]
            self._suspects.takes(table.name, files)
            if not files:
                return
            if put_aside_changed(files, self._catalog):
                continue
            try:
                self._discover(table, files, pool)
                self._executor.take_in(table.name, files, extra=self._extra(table), pool=pool)
            except UnreadableFilesError as error:
                for file, reason in error.reasons:
                    self._catalog.files.set_state(file.id, FileState.QUARANTINED, reason)

    def _discover(self, table: Table, files: list[FeedFile], pool: str) -> None:
        feed = self._feed(table)
        if feed.on_schema_change is SchemaChange.EVOLVE:
            self._catalog.files.add_columns(feed.name, self._executor.discovered_columns(feed.name, files, pool=pool))

    def _extra(self, table: Table) -> tuple[Column, ...]:
        return self._catalog.files.extra_columns(self._feed(table).name)

    def _feed(self, table: Table) -> Feed:
        assert table.feed is not None, f"{table.name} is not a base table"
        return self._feeds[table.feed]
