"""Threads that updates run on, one per track."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from freshtide.core.commands import StartUpdate
from freshtide.core.events import Event
from freshtide.world import Mailbox, Task, Threads

Order = Callable[[], Iterable[Event]]


class TrackThreads:
    """Runs each update on its track's thread and puts what comes of it onto the event queue."""

    def __init__(self, count: int, events: Mailbox[Event], threads: Threads) -> None:
        self._events = events
        self._threads = threads
        self._orders: list[Mailbox[Order | None]] = []
        self._tasks: list[Task] = []
        self.fault: BaseException | None = None
        self.resize(count)

    def resize(self, count: int) -> None:
        """From now on there are so many tracks. One that is gone ends when what runs on it has."""
        for orders in self._orders[count:]:
            orders.put(None)
        del self._orders[count:]
        self._tasks = [task for task in self._tasks if task.is_alive()]
        for track in range(len(self._orders), count):
            orders = self._threads.mailbox()
            self._orders.append(orders)
            self._tasks.append(self._threads.spawn(partial(self._run, orders), name=f"track-{track}"))

    def start(self, command: StartUpdate, carry_out: Callable[[StartUpdate], Iterable[Event]]) -> None:
        """Have an update carried out by whoever carries them out now, whoever does so when it ends."""
        self._orders[command.track].put(partial(carry_out, command))

    def stop(self) -> None:
        """Let running updates finish."""
        for orders in self._orders:
            orders.put(None)
        for task in self._tasks:
            task.join()

    def _run(self, orders: Mailbox[Order | None]) -> None:
        try:
            while (order := orders.get()) is not None:
                for event in order():
                    self._events.put(event)
        except BaseException as error:
            self.fault = error
