"""Threads that updates run on, one per track."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable

from freshtide.core.commands import StartUpdate
from freshtide.core.events import Event


class TrackThreads:
    """Runs each StartUpdate on its track's thread and puts what comes of it onto the event queue."""

    def __init__(
        self,
        count: int,
        carry_out: Callable[[StartUpdate], Iterable[Event]],
        events: queue.SimpleQueue[Event],
    ) -> None:
        self._carry_out = carry_out
        self._events = events
        self._orders: list[queue.SimpleQueue[StartUpdate | None]] = [queue.SimpleQueue() for _ in range(count)]
        self._threads = [
            threading.Thread(target=self._run, args=(orders,), name=f"track-{track}", daemon=True)
            for track, orders in enumerate(self._orders)
        ]
        self.fault: BaseException | None = None
        for thread in self._threads:
            thread.start()

    def start(self, command: StartUpdate) -> None:
        self._orders[command.track].put(command)

    def stop(self) -> None:
        """Let running updates finish."""
        for orders in self._orders:
            orders.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self, orders: queue.SimpleQueue[StartUpdate | None]) -> None:
        try:
            while (command := orders.get()) is not None:
                for event in self._carry_out(command):
                    self._events.put(event)
        except BaseException as error:
            self.fault = error
