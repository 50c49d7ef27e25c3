"""How much of a backlog, or of a rebuild, one update takes: what a run goes by, and what foresees one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FILES_AT_ONCE = 1_000
"""One Spark job lists and opens every file that it reads: beyond this many the rest waits for the next one."""
LONGEST_PIECE = 10.0
"""Seconds that one load of a backlog, or one part of a rebuild, should take at most, about."""
FIRST_RATE = 4_000_000 / LONGEST_PIECE
"""Bytes in a second. The first piece of a run is small: nobody knows yet how long it takes, and runs may be short."""
GROWTH = 4.0
"""A piece is so many times as large as the one before at most."""


def fitting(weights: Iterable[float], room: float) -> int:
    """How many files of these weights, from the first on, there is room for; at least one, however large."""
    number = 0
    for weight in weights:
        room -= weight
        if room < 0:
            return max(1, number)
        number += 1
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much goes into a piece, learnt from those before."""

    rate: float = FIRST_RATE
    """Bytes in a second, as if nothing of it were fixed."""
    proven: float = 0.0
    """The largest piece that ended in the time that it had."""

    def room(self, aim: float) -> float:
        """The bytes of a piece that is to take so many seconds, few times as many as one has had so far.

        Also where it has much less time than those before: they may have been that short.
        """
        in_proportion = self.rate * aim
        return min(in_proportion, max(FIRST_RATE * aim, GROWTH * self.proven))

    def after(self, weight: float, seconds: float, *, aim: float) -> Pace:
        """After a piece of this weight took so long. A small one says nothing against larger: much of it is fixed."""
        rate = weight / max(seconds, 0.001)
        if seconds > aim:
            return Pace(rate=rate, proven=weight)
        return Pace(rate=max(rate, self.rate), proven=max(weight, self.proven))
