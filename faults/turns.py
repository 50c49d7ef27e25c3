"""Threads that take turns, in a time of their own.

Each is a greenlet: it runs until it waits for something, then another one has its turn, chosen by a seeded source of
random numbers. When all of them wait, time leaps to the next moment that one of them waits for. So a run of hours takes
milliseconds, and the same seed gives the same run.
"""

from __future__ import annotations

import heapq
import queue
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from types import TracebackType
from typing import Any

from greenlet import getcurrent, greenlet

from faults.disk import DeadError

_BEGIN = 1_750_000_000.0


class StuckError(Exception):
    """Everybody waits for somebody else, and nothing will ever happen."""


class Turns:
    """The threads of all processes of a world, and its time."""

    def __init__(self, rng: Random) -> None:
        self.steady = 0.0
        self.set_by = 0.0
        """How far the clock of the machine has been set from where it would be."""
        self._rng = rng
        self._ready: list[_Turn] = []
        self._alarms: list[tuple[float, int, _Turn, int]] = []
        self._count = 0
        self._hub: greenlet | None = None
        self._begun: list[_Turn] = []

    @property
    def now(self) -> float:
        return _BEGIN + self.steady + self.set_by

    def spend(self, seconds: float) -> None:
        """Let time pass in the midst of a turn."""
        self.steady += seconds

    def spawn(self, work: Callable[[], None], process: Process, name: str) -> _Turn:
        turn = _Turn(self, process, name)
        turn.body = greenlet(lambda: turn.carry_out(work))
        process.turns.append(turn)
        self._begun.append(turn)
        self._ready.append(turn)
        return turn

    def end(self) -> None:
        """Let everybody leave what they are in the midst of: a thread that waits for ever holds its world for ever."""
        for turn in self._begun:
            turn.process.is_alive = False
        for turn in self._begun:
            body, turn.body = turn.body, None
            if body:  # It has begun, and is not over.
                body.parent = getcurrent()
                with suppress(Exception):  # Whatever it finds on its way out, nobody looks any more.
                    body.throw(DeadError("end", turn.name))
        self._begun, self._ready, self._alarms = [], [], []

    def run(self, until: Callable[[], bool]) -> None:
        """Let everybody have turns until something is so; StuckError where nobody can go on."""
        self._hub = getcurrent()
        while not until():
            if not self._ready:
                self._leap()
            place = self._rng.randrange(len(self._ready)) if len(self._ready) > 1 else 0
            turn = self._ready.pop(place)
            if turn.process.stopped_in not in (None, turn):
                turn.process.held.append(turn)
            elif turn.process.is_alive and turn.body is not None:
                # Whoever ends, ends here, and not where it was begun.
                turn.body.parent = self._hub
                turn.body.switch()

    def wait(self, seconds: float | None) -> None:
        """Give up the turn of whoever calls, until it is woken or the time is up."""
        current = self.current
        if not current.process.is_alive:
            raise DeadError("wait", current.name)
        current.waits += 1
        if seconds is not None:
            self._count += 1
            heapq.heappush(self._alarms, (self.steady + max(seconds, 0.0), self._count, current, current.waits))
        current.is_waiting = True
        assert self._hub is not None
        self._hub.switch()
        if not current.process.is_alive:
            raise DeadError("wait", current.name)

    def stop(self, seconds: float) -> None:
        """Stop the process of whoever calls, with all its threads, and let it go on after so long."""
        current, until = self.current, self.steady + seconds
        process = current.process
        process.stopped_in = current
        while self.steady < until:
            self.wait(until - self.steady)
        # Whoever was in the midst of something goes on first: it may hold what the others need.
        process.stopped_in = None
        self._ready += process.held
        process.held = []

    def wake(self, turn: _Turn) -> None:
        if turn.is_waiting:
            turn.is_waiting = False
            self._ready.append(turn)

    @property
    def current(self) -> _Turn:
        turn = getattr(getcurrent(), "turn", None)
        assert isinstance(turn, _Turn), "only threads of the world wait"
        return turn

    def _leap(self) -> None:
        while self._alarms:
            moment, _, turn, waits = heapq.heappop(self._alarms)
            if turn.is_waiting and turn.waits == waits and turn.process.is_alive:
                self.steady = max(self.steady, moment)
                self.wake(turn)
                return
        raise StuckError("Nothing will ever happen again.")


@dataclass(eq=False, slots=True)
class _Turn:
    """A thread of a process."""

    turns: Turns
    process: Process
    name: str
    body: greenlet | None = None
    is_waiting: bool = False
    waits: int = 0
    is_over: bool = False
    awaited_by: list[_Turn] = field(default_factory=list)

    def carry_out(self, work: Callable[[], None]) -> None:
        getcurrent().turn = self
        try:
            work()
        except DeadError:
            pass
        finally:
            self.is_over = True
            for other in self.awaited_by:
                self.turns.wake(other)

    def join(self) -> None:
        while not self.is_over:
            self.awaited_by.append(self.turns.current)
            self.turns.wait(None)

    def is_alive(self) -> bool:
        return not self.is_over


@dataclass(eq=False, slots=True)
class Process:
    """A process of the world: its threads live and die together."""

    name: str
    is_alive: bool = True
    turns: list[_Turn] = field(default_factory=list)
    stopped_in: _Turn | None = None
    """The thread in the midst of which the whole process was stopped."""
    held: list[_Turn] = field(default_factory=list)
    """Threads that could go on, if the process were not stopped."""
    statements: int = 0
    """How often it has asked the database for something."""
    at_statement: dict[int, Callable[[], None]] = field(default_factory=dict)
    """What happens to it before the database is asked for the n-th time."""

    def ask_database(self) -> None:
        self.statements += 1
        if (act := self.at_statement.get(self.statements)) is not None:
            act()


class TurnFlag:
    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_set = False
        self._waiting: list[_Turn] = []

    def set(self) -> None:
        self._is_set = True
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            self._turns.wake(turn)

    def clear(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        """Whoever is woken by its being set goes on, even if it has been cleared again meanwhile."""
        if self._is_set:
            return True
        current = self._turns.current
        self._waiting.append(current)
        self._turns.wait(timeout)
        if current not in self._waiting:
            return True
        self._waiting.remove(current)
        return False


class TurnMailbox:
    def __init__(self, turns: Turns) -> None:
        self._items: deque[Any] = deque()
        self._arrived = TurnFlag(turns)

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._arrived.set()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not self._items and block:
            self._arrived.clear()
            self._arrived.wait(timeout)
        if not self._items:
            raise queue.Empty
        return self._items.popleft()

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def empty(self) -> bool:
        return not self._items


class TurnCondition:
    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._changed = TurnFlag(turns)
        self._freed = TurnFlag(turns)
        self._owner: _Turn | None = None

    def __enter__(self) -> bool:
        while self._owner is not None:
            self._freed.clear()
            self._freed.wait()
        self._owner = self._turns.current
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owner = None
        self._freed.set()

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        until = None if timeout is None else self._turns.steady + timeout
        while not predicate():
            left = None if until is None else until - self._turns.steady
            if left is not None and left <= 0.0:
                return False
            self._owner = None
            # Whoever wants to have it may; those who wait for a change would only wake each other for ever.
            self._freed.set()
            self._changed.clear()
            self._changed.wait(left)
            self.__enter__()
        return True

    def notify_all(self) -> None:
        self._changed.set()


class TurnThreads:
    """The threads of one process."""

    def __init__(self, turns: Turns, process: Process) -> None:
        self._turns = turns
        self._process = process

    def spawn(self, work: Callable[[], None], *, name: str) -> _Turn:
        return self._turns.spawn(work, self._process, name)

    def flag(self) -> TurnFlag:
        return TurnFlag(self._turns)

    def mailbox(self) -> TurnMailbox:
        return TurnMailbox(self._turns)

    def condition(self) -> TurnCondition:
        return TurnCondition(self._turns)

    def sleep(self, seconds: float) -> None:
        self._turns.wait(seconds)


class TurnClock:
    """The clock of the machine, which can be set."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._ahead = float("-inf")

    def now(self) -> float:
        return self._turns.now

    def steady(self) -> float:
        return self._turns.steady

    def onward(self) -> float:
        self._ahead = max(self._ahead, self._turns.now - self._turns.steady)
        return self._turns.steady + self._ahead
