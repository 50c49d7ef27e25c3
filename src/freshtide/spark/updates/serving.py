"""The update tables of a warehouse at work: their queues side by side in one memory, and who serves them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from freshtide.core.tables import Feed, Table
from freshtide.core.updatestreams import KeyOrder
from freshtide.spark.contents import Contents
from freshtide.spark.updates.listeners import Listeners
from freshtide.spark.updates.rows import RowShape
from freshtide.spark.updates.runner import UpdateTableRunner
from freshtide.spark.updates.spool import Spool
from freshtide.spark.updates.stream import UpdateStream
from freshtide.spark.updates.tables import LatestTables
from freshtide.spark.updates.waiting import Waiting, WaitingRows, WaitingWindows
from freshtide.storage import Store
from freshtide.updates.admission import Admission
from freshtide.updates.manager import StorageManager
from freshtide.updates.pages import ColumnKind, PagePool
from freshtide.updates.statistics import TupleCost
from freshtide.updates.tuples import TupleQueue
from freshtide.updates.windows import WindowGrid, WindowQueue


class QueueMaker(Protocol):
    """Makes the queue in which the rows of a table without windows wait."""

    def __call__(
        self, pool: PagePool, values: Sequence[ColumnKind], *, order: KeyOrder, cost: TupleCost
    ) -> TupleQueue: ...


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
        memory: int,
        clock: Callable[[], float],
        listeners: Listeners,
        make_queue: QueueMaker,
        spool: Path,
        contents: Contents,
    ) -> None:
        """`memory` is how many bytes the rows of all tables together may take while they wait.

        `make_queue` is asked for a queue for each table without windows. Single rows that a run leaves behind are kept
        in the folder `spool`.
        """
        self._make_queue = make_queue
        self._memory = memory
        self._queues = StorageManager(limit=memory)
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
                    spool=Spool(spool / f"{table.name}.arrow"),
                    contents=contents,
                )

    def __getitem__(self, table: str) -> UpdateTableRunner:
        return self._runners[table]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runners)

    def __len__(self) -> int:
        return len(self._runners)

    def begin(self) -> None:
        """A run begins: with what the tables hold, the files that they are not done with, and what was kept."""
        self._queues = StorageManager(limit=self._memory)
        for runner in self._runners.values():
            runner.begin_anew()

    def _stream(self, table: Table, shape: RowShape, *, apart: bool) -> UpdateStream:
        """An empty stream for a table; `apart` from the others it may take as much memory as it needs."""
        assert table.updates is not None, f"{table.name} is no update table"
        queues = StorageManager() if apart else self._queues
        cost, order, windows = TupleCost(), table.updates.order, table.updates.windows
        waiting: Waiting
        if windows is None:
            rows = queues.add(table.name, lambda pool: self._make_queue(pool, shape.kinds, order=order, cost=cost))
            waiting = WaitingRows(rows)
        else:
            grid, semantics = WindowGrid.of(windows), windows.semantics
            whole = queues.add(
                table.name,
                lambda pool: WindowQueue(pool, shape.kinds, grid=grid, semantics=semantics, order=order, cost=cost),
            )
            waiting = WaitingWindows(whole)
        return UpdateStream(waiting, Admission(), cost, shape, self._room)
