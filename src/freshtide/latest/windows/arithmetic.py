"""Which windows of a key a time is in, and when a window is complete (Moga et al. 2009, sections 6.1 and 6.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from freshtide.core.errors import UsageError
from freshtide.core.latest import KeyWindows


class Window(NamedTuple):
    """A stretch of source time that begins with `start` and ends before `end`.

    It is complete for a key as soon as a tuple of that key is at or beyond `closes_at`.
    """

    start: float
    end: float
    closes_at: float


class WindowError(UsageError):
    """Windows that cannot be laid out on a time line."""


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """The windows `[n * slide, n * slide + size)` for all whole numbers n, which stand for them.

    The paper counts time in ticks: the window of size 3 that starts at 1 holds the tuples 1, 2 and 3 and is closed by
    the tuple 3 (`Last[W] <= t`, and `t = end[W]` in table 1). Source time that is a real number has no last tick, so
    only a tuple at or beyond the end shows that nothing more can come. Both are one rule: a window is complete once a
    tuple at or beyond `start + size - tick` has arrived. `tick` is the distance that all times keep from each other,
    and 0 where nothing is known about it.

    Which windows a time is in follows from comparing it with their starts and ends as they are given out, never from
    a quotient alone. So rounding cannot put a tuple into a window that its times do not span.
    """

    size: float
    slide: float
    tick: float = 0.0

    def __post_init__(self) -> None:
        for name, length in (("size", self.size), ("slide", self.slide)):
            if not (math.isfinite(length) and length > 0):
                raise WindowError(f"The {name} of a window cannot be {length:g}.", way_out="It must be above zero.")
        if not 0 <= self.tick <= min(self.size, self.slide):
            raise WindowError(
                f"Windows of size {self.size:g} and slide {self.slide:g} cannot have ticks of {self.tick:g}.",
                way_out="A tick is not negative and not longer than a slide or a window.",
            )

    @classmethod
    def of(cls, windows: KeyWindows, *, tick: float = 0.0) -> WindowGrid:
        """The grid of windows as they are declared."""
        return cls(windows.size, windows.slide, tick)

    @property
    def overlap(self) -> int:
        """How many windows most times are in: the degree of overlapping of section 6.1.2."""
        return math.ceil(self.size / self.slide)

    @property
    def most_buffered(self) -> int:
        """`omega + delta - 1` tuples in ticks: the most that the window buffer of a key holds (section 7.2).

        With LAZY that is its enqueue buffer, from the newest complete window on. Without ticks there is no such number:
        the enqueue buffer then holds what a key gets within less than `size + slide` of source time.
        """
        if self.tick == 0:
            raise WindowError(
                "Without ticks any number of tuples fits into a window.", way_out="Give the grid a tick above zero."
            )
        return round((self.size + self.slide) / self.tick) - 1

    def window(self, number: int) -> Window:
        """The window that stands at this place."""
        return Window(self.start(number), self._end(number), self.closes_at(number))

    def start(self, number: int) -> float:
        """Where it begins."""
        return number * self.slide

    def closes_at(self, number: int) -> float:
        """From which time on a tuple shows that it is complete."""
        return number * self.slide + self.size - self.tick

    def last_started(self, time: float) -> int:
        """The youngest window that starts at this time or before."""
        return _settled(math.floor(time / self.slide), time, self.start)

    def last_complete(self, time: float) -> int:
        """The youngest window that a tuple at this time shows to be complete."""
        return _settled(math.floor((time - self.size + self.tick) / self.slide), time, self.closes_at)

    def last_ended(self, time: float) -> int:
        """The youngest window that ends at this time or before."""
        return _settled(math.floor((time - self.size) / self.slide), time, self._end)

    def holding(self, time: float) -> range:
        """The windows that this time is in, the oldest first."""
        return range(self.last_ended(time) + 1, self.last_started(time) + 1)

    def holds(self, number: int, time: float) -> bool:
        """Is this time within this window?"""
        return self.start(number) <= time < self._end(number)

    def first_of_key(self, time: float) -> int:
        """The first window of a key whose first tuple is at this time: the youngest that holds it, or the next one.

        Older ones that hold it as well were not seen from their start.
        """
        started = self.last_started(time)
        return started if self.holds(started, time) else started + 1

    def youngest_closed(self, time: float, *, before: float | None, reached: int) -> int | None:
        """The youngest window with a tuple in it that a tuple at this time closes, if it closes any.

        `before` is the time of the newest tuple before it that is in a window, and `reached` the youngest window that
        was complete with that.
        """
        complete = self.last_complete(time)
        if complete <= reached:
            return None
        # In ticks the closing tuple may be the last of the window. Else it is beyond it: the one before was the last.
        last = time if self.holds(complete, time) else before
        if last is None:
            return None
        closed = min(complete, self.last_started(last))
        return closed if closed > reached else None

    def _end(self, number: int) -> float:
        return number * self.slide + self.size


def _settled(estimate: int, time: float, place: Callable[[int], float]) -> int:
    """The largest number whose place is not after this time. The estimate is rounded, so one beside it may be right."""
    if place(estimate) > time:
        return estimate - 1
    return estimate + 1 if place(estimate + 1) <= time else estimate
