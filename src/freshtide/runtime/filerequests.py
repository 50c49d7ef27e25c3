"""What users say about single files: take it up again, go on without it, take it as it is now."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping

from freshtide.catalog import Catalog
from freshtide.core.events import Event
from freshtide.core.files import FeedFile
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Feed
from freshtide.feeds import accept_everywhere, retry_everywhere, skip_everywhere, verdicts
from freshtide.runtime.arrivals import pending_announcements
from freshtide.runtime.integrity import require_files


class FileRequests:
    """Carries out requests about files while a run goes on."""

    def __init__(
        self,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        catalog: Catalog,
        *,
        register: Callable[[list[FeedFile]], None],
        events: queue.SimpleQueue[Event],
        clock: Callable[[], float],
    ) -> None:
        self._feeds = feeds
        self._graph = graph
        self._catalog = catalog
        self._register = register
        self._events = events
        self._clock = clock

    def retry(self, path: str) -> str:
        """Take up a file that was put aside."""
        again = retry_everywhere(path, self._feeds, self._catalog.files, self._clock())
        self._register(again)
        return verdicts(again)

    def skip(self, path: str) -> str:
        """Go on without a file that is away."""
        skipped = skip_everywhere(path, self._catalog.files)
        for file in skipped:
            self._catalog.files.set_state(file.id, file.state, file.reason)
            for unit in self._graph.units.of_all(table.name for table in self._graph.for_feed(file.feed)):
                tables = [self._graph[table] for table in self._graph.units[unit]]
                for event in pending_announcements(unit, tables, self._catalog):
                    self._events.put(event)
        return verdicts(skipped)

    def accept(self, path: str) -> tuple[str, list[str]]:
        """Let the content that a file has now take the place of what was registered.

        What to tell, and the tables that have to be rebuilt for it: they have loaded the old content, or may be just
        about to.
        """
        accepted = accept_everywhere(path, self._feeds, self._catalog.files, self._clock())
        readers = [table for file in accepted for table in self._graph.for_feed(file.feed)]
        for table in readers:
            others = [file for file in self._catalog.files.loaded(table.name) if file.path != path]
            require_files(table, others)
        self._register(accepted)
        outdated = self._catalog.files.outdated_tables()
        outdated |= {update.table for update in self._catalog.updates.running()}
        return verdicts(accepted), [table.name for table in readers if table.name in outdated]
