"""How much of a backlog, or of a rebuild, one update takes: what a run goes by, and what foresees one."""

from __future__ import annotations

from collections.abc import Iterable

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


def learnt_rate(known: float, weight: float, seconds: float, *, aim: float) -> float:
    """What goes into a second, after a piece of this weight took so long. A small one says nothing against larger."""
    rate = weight * min(GROWTH, aim / max(seconds, 0.001)) / aim
    return rate if rate > known or seconds > aim else known
