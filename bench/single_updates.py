"""Updates of a warehouse one by one, as a track carries them out, without an engine that chooses them."""

from __future__ import annotations

import queue
import time
from pathlib import Path

from freshtide import Warehouse
from freshtide.core.commands import StartUpdate
from freshtide.core.events import UpdateFailed
from freshtide.feeds import SettledFile, admit
from freshtide.runtime.memory import UpdateMemory
from freshtide.runtime.recovery import reconcile
from freshtide.runtime.suspects import Suspects
from freshtide.runtime.watching import SurroundingsWatch
from freshtide.runtime.worker import UpdateWorker
from freshtide.scheduling import RetryPolicy


class SingleUpdates:
    """A warehouse that is told what to update."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._bench, self._project = warehouse.workbench, warehouse.project
        reconcile(self._project.graph, self._bench.store, self._bench.catalog, time.time())
        self.worker = UpdateWorker(
            self._bench.executor,
            self._bench.computer,
            feeds=self._project.feeds,
            graph=self._project.graph,
            store=self._bench.store,
            catalog=self._bench.catalog,
            memory=UpdateMemory(suspects=Suspects(self._bench.threads)),
            clock=self._bench.clock,
            surroundings=SurroundingsWatch(
                [],
                events=queue.SimpleQueue(),
                tell=lambda _trouble, _told: None,
                backoff=RetryPolicy(),
                clock=self._bench.clock.onward,
                threads=self._bench.threads,
            ),
        )

    def arrived(self, feed: str, path: Path, *tables: str) -> float:
        """Have a file inspected and registered; its time stamp."""
        found = path.stat()
        settled = SettledFile(path=str(path), size=found.st_size, modified_ns=found.st_mtime_ns)
        file = admit(self._project.feeds[feed], settled, self._bench.catalog.arrivals, time.time())
        assert file is not None, "a new file is admitted"
        registered = self._bench.catalog.arrivals.register(file, list(tables))
        assert registered.timestamp is not None, "every file of a feed is stamped"
        return registered.timestamp

    def update(self, table: str, upto: float) -> float:
        """How long an update takes, bookkeeping in the catalog included."""
        begun = time.perf_counter()
        first, *_ = self.worker.carry_out(StartUpdate(table=table, track=0, upto=upto))
        seconds = time.perf_counter() - begun
        if isinstance(first, UpdateFailed):
            raise RuntimeError(f"{table}: {first.reason}")
        return seconds

    def is_from_changes(self, view: str) -> bool:
        """Whether the last update of a view was made of what had changed."""
        snapshot = self._bench.store.table(view).snapshot
        return snapshot is not None and snapshot.record is not None and bool(snapshot.record.from_changes)
