"""Where views are cut in time: by what their sources hold, from file to file and within files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from freshtide.core.cuts import Cuts
from freshtide.storage import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A file, whose rows are taken to be spread evenly over the time that it covers."""

    low: int
    high: int
    size: int

    def upto(self, cut: int) -> float:
        """The bytes of it up to a cut."""
        if cut >= self.high:
            return float(self.size)
        return 0.0 if cut < self.low else self.size * (cut - self.low + 1) / (self.high - self.low + 1)


class SourceWeights:
    """How many bytes the sources of a view hold up to each moment."""

    def __init__(self, sources: Iterable[Snapshot | None]) -> None:
        self._pieces = [
            _Piece(low=file.low, high=file.high, size=file.size)
            for snapshot in sources
            if snapshot is not None
            for file in snapshot.files
            if file.low is not None and file.high is not None
        ]

    @property
    def begins(self) -> int | None:
        """The first time stamp of all; None where there is none."""
        return min((piece.low for piece in self._pieces), default=None)

    def between(self, after: int | None, upto: int) -> float:
        """The bytes after one cut up to another."""
        return self._upto(upto) - (0.0 if after is None else self._upto(after))

    def cut_after(self, after: int, weight: float, *, upto: int) -> int:
        """The last cut up to which there are so many bytes, or less; at least a moment further."""
        low, high = after + 1, upto
        before = self._upto(after)
        while low < high:
            middle = (low + high + 1) // 2
            if self._upto(middle) - before <= weight:
                low = middle
            else:
                high = middle - 1
        return min(low, upto)

    def _upto(self, cut: int) -> float:
        return sum(piece.upto(cut) for piece in self._pieces)


def cut_of(cuts: Cuts, view: str, weights: SourceWeights, *, after: int | None, weight: float, upto: int) -> int:
    """Where a part of a view ends that begins after a cut and goes through so many bytes of its sources.

    Where it has buckets, at the end of one: they are computed as a whole, however large they are.
    """
    begins = weights.begins
    if begins is None or weights.between(after, upto) <= weight:
        return upto
    start = begins - 1 if after is None else after
    while (cut := weights.cut_after(start, weight, upto=upto)) < upto:
        ends = cuts.span_end(view, cut)
        if ends is not None and ends > start:
            return ends
        weight *= 2.0
    return upto
