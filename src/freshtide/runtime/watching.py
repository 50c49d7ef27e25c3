"""Watching over what a run stands on: disk, database, Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from freshtide.core.durations import format_duration
from freshtide.core.errors import RunFailedError, SurroundingsError
from freshtide.core.events import Event, SurroundingsFailed, SurroundingsMended
from freshtide.runs import Trouble
from freshtide.runtime.verdicts import reason_of, surroundings_at_fault
from freshtide.scheduling import RetryPolicy
from freshtide.world import Mailbox, Task, Threads

_LOOK_EVERY = 1.0
# Once a run is ending, what it owes is tried so often and no more: the next start finds it in the logs.
_LAST_TRIES = 3
_logger = logging.getLogger(__name__)
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that must be well; `look` raises what is wrong with it."""

    look: Callable[[], None]
    is_quick: bool
    """Whether it is looked at all the time; the others are when something has gone wrong."""
    mend: Callable[[SurroundingsError], None] | None = None
    """What can be done about it; it is looked at again afterwards. A RunFailedError where nothing ever can."""


class Surroundings(Protocol):
    """What those who work have to do with disk, database and Spark."""

    @property
    def is_well(self) -> bool: ...

    def suspect(self, error: SurroundingsError) -> None: ...

    def insist(self, act: Callable[[], ResultT]) -> ResultT: ...


class SurroundingsWatch:
    """A thread that finds out when the surroundings fail, waits until they are well again, and tells both.

    Whoever comes upon a failure of theirs says so (`suspect`). Meanwhile the scheduler starts nothing. The wait grows
    while they fail again and again without an update in between that succeeds.
    """

    def __init__(
        self,
        checks: Sequence[Check],
        *,
        events: Mailbox[Event],
        tell: Callable[[Trouble | None, str], None],
        backoff: RetryPolicy,
        clock: Callable[[], float],
        threads: Threads,
    ) -> None:
        """`tell` is called with what is wrong, or None when all is well again, and the same in a sentence."""
        self._checks = checks
        self._events = events
        self._tell = tell
        self._backoff = backoff
        self._clock = clock
        self._lock = threading.Lock()
        self._suspicion: SurroundingsError | None = None
        self._setbacks = 0
        self._well = threads.flag()
        self._well.set()
        self._wake = threads.flag()
        self._ending = threads.flag()
        self._threads = threads
        self._task: Task | None = None
        self.fault: BaseException | None = None

    def start(self) -> None:
        self._task = self._threads.spawn(self._run, name="surroundings")

    def stop(self) -> None:
        """Watch no longer; whoever waits for better times waits in vain."""
        self._ending.set()
        self._wake.set()
        if self._task is not None:
            self._task.join()
        self._well.set()

    @property
    def is_well(self) -> bool:
        return self._well.is_set()

    def suspect(self, error: SurroundingsError) -> None:
        """Something failed that was nobody's fault."""
        with self._lock:
            self._suspicion = error
            if not self._ending.is_set():
                self._well.clear()
        self._wake.set()

    def succeeded(self) -> None:
        """An update has been done: the surroundings are as good as they say."""
        self._setbacks = 0

    def insist(self, act: Callable[[], ResultT]) -> ResultT:
        """Do something that only the surroundings can keep from being done, however often it takes."""
        tries = 0
        while True:
            try:
                return act()
            except Exception as error:
                at_fault = surroundings_at_fault(error)
                tries += self._ending.is_set()
                if at_fault is None or tries >= _LAST_TRIES:
                    raise
                self.suspect(at_fault)
            self._well.wait()
            if self._ending.is_set():
                self._ending.wait(self._backoff.backoff)

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                trouble = self._suspected() or self._look(thoroughly=False)
                if trouble is not None:
                    self._see_through(trouble)
                self._wake.wait(_LOOK_EVERY)
        except BaseException as error:
            self.fault = error
            self._well.set()

    def _suspected(self) -> SurroundingsError | None:
        with self._lock:
            self._wake.clear()
            suspicion, self._suspicion = self._suspicion, None
            return suspicion

    def _see_through(self, trouble: SurroundingsError) -> None:
        """Wait until all is well."""
        began = self._clock()
        self._well.clear()
        self._events.put(SurroundingsFailed(reason=trouble.message))
        self._setbacks += 1
        tries, told = self._setbacks, ""
        while not self._ending.is_set():
            if trouble.message != told:
                told = trouble.message
                _logger.warning("The surroundings failed.", exc_info=trouble)
                self._tell(Trouble(reason=trouble.message, since=began), f"Work waits: {trouble}")
            self._ending.wait(self._wait_after(tries))
            found = self._look(thoroughly=True)
            if found is None:
                self._mended(began)
                return
            trouble, tries = found, tries + 1

    def _mended(self, began: float) -> None:
        told = f"Work goes on: disk, database and Spark are well again, after {format_duration(self._clock() - began)}."
        with self._lock:
            # What was suspected meanwhile is over: it would show again.
            self._suspicion = None
        self._tell(None, told)
        self._events.put(SurroundingsMended())
        self._well.set()

    def _wait_after(self, tries: int) -> float:
        return min(self._backoff.longest, self._backoff.backoff * 2.0 ** (tries - 1))

    def _look(self, *, thoroughly: bool) -> SurroundingsError | None:
        for check in self._checks:
            if not (thoroughly or check.is_quick):
                continue
            try:
                check.look()
            except Exception as error:
                at_fault = surroundings_at_fault(error) or SurroundingsError(reason_of(error))
                if thoroughly and check.mend is not None:
                    _try_to_mend(check.mend, at_fault)
                return at_fault
        return None


def _try_to_mend(mend: Callable[[SurroundingsError], None], what: SurroundingsError) -> None:
    try:
        mend(what)
    except RunFailedError:
        raise
    except Exception:
        _logger.warning("This could not be mended, and is tried again: %s", what, exc_info=True)
