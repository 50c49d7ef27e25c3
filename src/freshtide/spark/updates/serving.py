"""The update tables of a warehouse at work: their queues side by side in one memory, and who serves them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from freshtide.core.tables import Feed, Table
from freshtide.spark.updates.listeners import Listeners
from freshtide.spark.updates.rows import RowShape
from freshtide.spark.updates.runner import UpdateTableRunner
from freshtide.spark.updates.stream import UpdateStream
from freshtide.spark.updates.tables import LatestTables
from freshtide.storage import Store
from freshtide.updates.admission import Admission
from freshtide.updates.pages import PagePool
from freshtide.updates.queues import UpdateQueue
from freshtide.updates.statistics import TupleCost


class UpdateStreams(Mapping[str, UpdateTableRunner]):
    """The runners of all update tables that read a feed, by table."""

    def __init__(
        self,
        tables: Mapping[str, Table],
        feeds: Mapping[str, Feed],
        *,
        store: Store,
        latest: LatestTables,
        definitions: Mapping[str, str],
        clock: Callable[[], float],
        listeners: Listeners,
    ) -> None:
        self._memory = PagePool()
        # One lock for all queues: they share the memory.
        self._room = threading.Condition(threading.RLock())
        self._runners: dict[str, UpdateTableRunner] = {}
        for table in tables.values():
            if table.updates is not None and table.feed is not None:
                self._runners[table.name] = UpdateTableRunner(
                    table,
                    feeds[table.feed],
                    self._stream,
                    store=store,
                    latest=latest,
                    definition=definitions[table.name],
                    clock=clock,
                    listeners=listeners,
                )

    def __getitem__(self, table: str) -> UpdateTableRunner:
        return self._runners[table]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runners)

    def __len__(self) -> int:
        return len(self._runners)

    def _stream(self, table: Table, shape: RowShape) -> UpdateStream:
        """An empty stream for a table."""
        assert table.updates is not None, f"{table.name} is no update table"
        cost = TupleCost()
        queue = UpdateQueue(self._memory, shape.kinds, order=table.updates.order, cost=cost)
        return UpdateStream(queue, Admission(), cost, shape, self._room)
