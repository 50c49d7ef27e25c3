"""The update tables of a warehouse at work: their queues side by side in one memory, and who serves them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from freshtide.core.feeds import Feed
from freshtide.core.latest import KeyOrder
from freshtide.core.tables import Table
from freshtide.latest import Admission, ColumnKind, PagePool, StorageManager, TupleCost, TupleQueue
from freshtide.latest.windows import WindowGrid, WindowQueue
from freshtide.spark.ingest import WatchFiles
from freshtide.spark.latest.listeners import Listeners
from freshtide.spark.latest.rows import RowShape
from freshtide.spark.latest.runner import LatestTableRunner
from freshtide.spark.latest.spool import Spool
from freshtide.spark.latest.stream import LatestStream
from freshtide.spark.latest.tables import LatestTables
from freshtide.spark.latest.waiting import Waiting, WaitingRows, WaitingWindows
from freshtide.storage import Store


class QueueMaker(Protocol):
    """Makes the queue in which the rows of a table without windows wait."""

    def __call__(
        self, pool: PagePool, values: Sequence[ColumnKind], *, order: KeyOrder, cost: TupleCost
    ) -> TupleQueue: ...


@dataclass(slots=True)
class _SharedMemory:
    """The queues of all tables side by side; one lock for all, since they share the memory."""

    queues: StorageManager
    room: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))


class LatestStreams(Mapping[str, LatestTableRunner]):
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
        watch: WatchFiles,
        beside: LatestStreams | None = None,
    ) -> None:
        """`memory` is how many bytes the rows of all tables together may take while they wait.

        `make_queue` is asked for a queue for each table without windows. Single rows that a run leaves behind are kept
        in the folder `spool`. What waits for tables that `beside` serves already is common to both.
        """
        self._feeds = feeds
        self._make_queue = make_queue
        self._memory = memory
        self._shared: _SharedMemory = _SharedMemory(StorageManager(limit=memory)) if beside is None else beside._shared
        self._runners: dict[str, LatestTableRunner] = {}
        known = {} if beside is None else beside._runners
        for table in tables.values():
            if table.name in known:
                self._runners[table.name] = known[table.name]
            elif table.is_latest and table.feed is not None:
                self._runners[table.name] = LatestTableRunner(
                    table,
                    feeds[table.feed],
                    self._stream,
                    store=store,
                    latest=latest,
                    definition=definitions[table.name],
                    clock=clock,
                    listeners=listeners,
                    spool=Spool(spool / f"{table.name}.arrow", store.disk),
                    watch=watch,
                )

    def __getitem__(self, table: str) -> LatestTableRunner:
        return self._runners[table]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runners)

    def __len__(self) -> int:
        return len(self._runners)

    def begin(self) -> None:
        """A run begins: with what the tables hold, the files that they are not done with, and what was kept."""
        self._shared.queues = StorageManager(limit=self._memory)
        for runner in self._runners.values():
            runner.begin_anew()

    def _stream(self, table: Table, shape: RowShape, *, apart: bool) -> LatestStream:
        """An empty stream for a table; `apart` from the others it may take as much memory as it needs."""
        assert table.latest is not None, f"{table.name} is no update table"
        queues, room = StorageManager() if apart else self._shared.queues, self._shared.room
        with room:
            # One that was begun anew has left its queue behind.
            queues.discard(table.name)
        cost, order, windows = TupleCost(), table.latest.order, table.latest.windows
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
            assert table.feed is not None, f"{table.name} reads no feed"
            waiting = WaitingWindows(whole, is_read_again=self._feeds[table.feed].brings_files)
        return LatestStream(waiting, Admission(), cost, shape, room)
