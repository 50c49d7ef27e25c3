"""How much of a backlog or of a rebuild one update takes: as much as the others can wait for, in some seconds at most.

So nobody's target is missed for it, and something is done by every restart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from freshtide.core.arrivals import Arrival
from freshtide.core.loads import weight_of
from freshtide.core.pieces import FIRST_RATE, GROWTH, LONGEST_PIECE, Pace, fitting

# Where parts of a view would be mostly fixed, they take so many times that: then cutting costs an eighth.
_FIXED_COSTS = 8.0
# Parts whose sizes are less apart tell more about chance than about what is fixed.
_OTHER_SIZE = 2.0


def aim_of(within: float | None) -> float:
    """Seconds that a piece should take of an update that may take so long."""
    return LONGEST_PIECE if within is None else min(LONGEST_PIECE, within)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ViewPart:
    """A part of a view: the bytes of its sources that it went through, and how long that took."""

    weight: float
    seconds: float

    def is_of_another_size_than(self, part: _ViewPart) -> bool:
        return max(self.weight, part.weight) >= _OTHER_SIZE * min(self.weight, part.weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ViewParts:
    """What the parts of one view have taken: the last, and one before it that was of another size."""

    last: _ViewPart
    other: _ViewPart | None = None

    def followed_by(self, part: _ViewPart) -> _ViewParts:
        if part.weight * GROWTH < self.last.weight:
            return self  # It is what was left of a rebuild, and says nothing against larger ones.
        known = [one for one in (self.last, self.other) if one is not None and one.is_of_another_size_than(part)]
        return _ViewParts(last=part, other=known[0] if known else None)

    def next(self, aim: float, within: float) -> float:
        """The bytes of the next part, which takes so long; or up to `within`, where most of that would be fixed."""
        last, fixed = self.last, self._fixed()
        longest = aim if fixed <= aim / 2.0 else max(aim, min(_FIXED_COSTS * fixed, within))
        # What does not get shorter by being cut is cut less.
        wanted = (longest - fixed) / (last.seconds - fixed) if last.seconds > fixed < longest else GROWTH
        return last.weight * min(GROWTH, max(1.0 / GROWTH, wanted))

    def _fixed(self) -> float:
        """Seconds that a part takes however small it is, by a line through two."""
        last, other = self.last, self.other
        if other is None:
            return 0.0
        slope = (last.seconds - other.seconds) / (last.weight - other.weight)
        return min(last.seconds, other.seconds, max(0.0, last.seconds - slope * last.weight))


class PieceSizes:
    """What each table takes in a second, in bytes: learnt from how long the last pieces took.

    Of a view, it is the bytes of its sources, and what is fixed is learnt too: parts of a rebuild may take longer each,
    as far as others can wait, rather than be mostly that.
    """

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}
        self._parts: dict[str, _ViewParts] = {}

    def span(self, view: str, *, aim: float, within: float | None) -> float:
        """Bytes of the sources of a view that a part of it goes through in so many seconds.

        `within` is how long others can wait; None: as long as it takes.
        """
        known = self._parts.get(view)
        return FIRST_RATE * aim if known is None else known.next(aim, math.inf if within is None else within)

    def measured_span(self, view: str, weight: float, seconds: float) -> None:
        """A part of a view that went through so many bytes of its sources has taken so long."""
        if weight > 0.0:
            part = _ViewPart(weight=weight, seconds=max(seconds, 0.001))
            self._parts[view] = self._parts[view].followed_by(part) if view in self._parts else _ViewParts(last=part)

    def fitting(self, table: str, files: Sequence[Arrival], *, aim: float = LONGEST_PIECE) -> int:
        """How many of these files, from the first on, take so many seconds; at least one, however large."""
        return fitting(map(weight_of, files), self._paces.get(table, Pace()).room(aim))

    def measured(self, table: str, files: Iterable[Arrival], seconds: float, *, aim: float = LONGEST_PIECE) -> None:
        """Loading these files has taken so long."""
        known = self._paces.get(table, Pace())
        self._paces[table] = known.after(sum(map(weight_of, files)), seconds, aim=aim)
