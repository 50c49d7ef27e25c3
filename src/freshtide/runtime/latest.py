"""What waits for latest tables in memory: told to the scheduler, and to those who look on."""

from __future__ import annotations

from collections.abc import Mapping

from freshtide.catalog import Catalog
from freshtide.core.events import DataArrived
from freshtide.core.feeds import Feed
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.runs import pending_announcements
from freshtide.runtime.booking import stream_row
from freshtide.spark import LatestStreams


class WaitingRows:
    """The queues of latest tables, as the rest of a run sees them."""

    def __init__(
        self, streams: LatestStreams, *, feeds: Mapping[str, Feed], graph: TableGraph, catalog: Catalog
    ) -> None:
        self._streams = streams
        self._feeds = feeds
        self._graph = graph
        self._catalog = catalog

    def left_over(self, table: Table, *, is_cut: bool) -> list[DataArrived]:
        """The event that tells of what still waits: the scheduler comes back to it."""
        self.book(table.name)
        stream = self._streams[table.name].stream
        if stream.is_quiet:
            unread = pending_announcements(self._graph.units.of(table.name), [table], self._catalog)
            return unread[:1] if is_cut else []
        pending = stream.pending
        timestamp = pending.timestamp if pending.timestamp is not None else 0.0
        return [DataArrived(table=self._graph.units.of(table.name), timestamp=timestamp, at=pending.since)]

    def begin_anew(self, table: Table) -> None:
        """Forget what waits in memory where files hold it: some of it is in the table, and nobody can tell what."""
        if table.feed is not None and self._feeds[table.feed].brings_files:
            self._streams[table.name].begin_anew()

    def book(self, table: str) -> None:
        """Write down what waits, for those who look on."""
        pending = self._streams[table].stream.pending
        standing = {"pending_since": pending.since, "residents": pending.residents, "taken_in": pending.taken_in}
        self._catalog.streams.put(table, stream_row(self._catalog.tables.get(table), **standing))
