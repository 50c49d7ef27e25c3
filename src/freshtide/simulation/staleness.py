"""Staleness over time, exactly: between updates it grows at rate 1, so it is made of straight pieces."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub


class StalenessRecord:
    """When a table's freshness moved, and where to, from time 0 on."""

    __slots__ = ("_first", "_freshnesses", "_moments", "freshnesses", "moments")

    def __init__(self, freshness: float = 0.0) -> None:
        """It starts with this freshness."""
        self._first = freshness
        self.moments: list[float] = []
        """When the last updates ended: those that have not been put away."""
        self.freshnesses: list[float] = []
        """How far each of them took the table."""
        self._moments = array("d")
        self._freshnesses = array("d")

    def put_away(self) -> None:
        """Keep what was written in a quarter of the memory."""
        for kept, written in ((self._moments, self.moments), (self._freshnesses, self.freshnesses)):
            kept.extend(_packed(written))
            written.clear()

    def closed(self, now: float) -> Staleness:
        """What the table's staleness was up to now."""
        self.put_away()
        moments, freshnesses = self._moments[:], self._freshnesses[:]
        since, freshness = [0.0, *moments], [self._first, *freshnesses]
        return Staleness(
            starts=_packed(list(map(sub, since, freshness))),
            ends=_packed(list(map(sub, [*moments, now], freshness))),
            moments=moments,
            freshnesses=freshnesses,
        )


def _packed(numbers: list[float]) -> array[float]:
    """All at once: number by number an array is filled half as fast."""
    return array("d", struct.pack(f"{len(numbers)}d", *numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """One table's staleness over a whole run: how stale at the beginning and at the end of each straight piece."""

    starts: Sequence[float]
    ends: Sequence[float]
    moments: Sequence[float]
    """When updates ended: one piece ends there and the next begins."""
    freshnesses: Sequence[float]
    """How far each of them took the table."""

    @property
    def updates(self) -> int:
        return len(self.moments)

    @property
    def area(self) -> float:
        """The integral over time (Golab et al. 2011, section 2.3)."""
        return sum((end - start) * (end + start) for start, end in zip(self.starts, self.ends, strict=True)) / 2.0

    @property
    def length(self) -> float:
        return sum(self.ends) - sum(self.starts)

    @property
    def mean(self) -> float:
        return self.area / self.length if self.length > 0 else 0.0

    @property
    def maximum(self) -> float:
        return max(self.ends)

    @property
    def final(self) -> float:
        return self.ends[-1]

    def quantile(self, share: float) -> float:
        """The staleness that was not exceeded for this share of the time.

        The time with a staleness of at most s grows piecewise linearly with s: its slope is the number of pieces that s
        lies in. Sweeping over the borders of the pieces finds where it reaches the share.
        """
        wanted = share * self.length
        borders = sorted([(start, 1) for start in self.starts] + [(end, -1) for end in self.ends])
        passed, inside, last = 0.0, 0, borders[0][0]
        for value, change in borders:
            gained = inside * (value - last)
            if inside and passed + gained >= wanted:
                return last + (wanted - passed) / inside
            passed, last = passed + gained, value
            inside += change
        return last
