"""Staleness arithmetic (Golab et al. 2011, sections 2.2 and 2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


def trailing_edge(freshnesses: Iterable[float | None]) -> float | None:
    """The freshness of the least fresh table of a set; None while one of them has no data at all."""
    edge: float | None = None
    for freshness in freshnesses:
        if freshness is None:
            return None
        edge = freshness if edge is None else min(edge, freshness)
    return edge


@dataclass(slots=True)
class StalenessCurve:
    """The staleness of one table over time, integrated exactly: it grows at rate 1 between updates."""

    since: float
    freshness: float
    area: float = 0.0
    maximum: float = 0.0
    begun: float | None = None

    def __post_init__(self) -> None:
        self.begun = self.since

    def advance(self, now: float) -> None:
        """Let time pass without an update."""
        length = now - self.since
        start, end = self.since - self.freshness, now - self.freshness
        self.area += length * (start + end) / 2
        self.maximum = max(self.maximum, end)
        self.since = now

    def refreshed(self, now: float, freshness: float) -> None:
        """An update that was committed now has taken the table to this freshness."""
        self.advance(now)
        self.freshness = freshness

    @property
    def mean(self) -> float:
        """Time-averaged staleness up to the last moment seen."""
        length = self.since - (self.begun if self.begun is not None else self.since)
        return self.area / length if length > 0 else self.since - self.freshness
