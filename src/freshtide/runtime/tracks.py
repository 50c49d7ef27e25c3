"""Threads that updates run on, one per track."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from freshtide.core.commands import StartUpdate
from freshtide.core.events import Event
from freshtide.world import Mailbox, Threads


class TrackThreads:
    """Runs each StartUpdate on its track's thread and puts what comes of it onto the event queue."""

    def __init__(
        self,
        count: int,
        carry_out: Callable[[StartUpdate], Iterable[Event]],
        events: Mailbox[Event],
        threads: Threads,
    ) -> None:
        self._carry_out = carry_out
        self._events = events
        self._orders: list[Mailbox[StartUpdate | None]] = [threads.mailbox() for _ in range(count)]
        self.fault: BaseException | None = None
        self._tasks = [
            threads.spawn(partial(self._run, orders), name=f"track-{track}")
            for track, orders in enumerate(self._orders)
        ]

    def start(self, command: StartUpdate) -> None:
        self._orders[command.track].put(command)

    def stop(self) -> None:
        """Let running updates finish."""
        for orders in self._orders:
            orders.put(None)
        for task in self._tasks:
            task.join()

    def _run(self, orders: Mailbox[StartUpdate | None]) -> None:
        try:
            while (command := orders.get()) is not None:
                for event in self._carry_out(command):
                    self._events.put(event)
        except BaseException as error:
            self.fault = error
