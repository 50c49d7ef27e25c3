"""Staleness arithmetic (Golab et al. 2011, sections 2.2 and 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """How stale a table was in a stretch of time, and for how much of it that was within a target.

    Staleness is counted from when the table first had data, and is 0 where that is ahead of the clock.
    """

    since: float
    """When it begins, or when the table first had data in it."""
    length: float
    """Seconds in which the table had data."""
    staleness: float
    """Integrated over them, in seconds times seconds."""
    lateness: float
    """What of it was beyond the target, integrated; 0 without a target."""
    within: float | None
    """Seconds in which it was not beyond the target; None without one."""

    @property
    def mean_staleness(self) -> float:
        return self.staleness / self.length

    @property
    def mean_lateness(self) -> float:
        return self.lateness / self.length

    @property
    def share_within(self) -> float | None:
        """How much of the time the table was within its target, from 0 to 1."""
        return None if self.within is None else self.within / self.length


def stretch_of(
    freshness: float | None,
    commits: Sequence[tuple[float, float | None]],
    *,
    since: float,
    until: float,
    target: float | None,
) -> Stretch | None:
    """The stretch from `since` to `until`, exactly; None if the table had no data in it.

    Between commits staleness grows at rate 1. `freshness` is that of the table before the first commit, and each commit
    is a moment and the freshness from then on; they are in the order of time. None stands for no data.
    """
    begun: float | None = None
    length = staleness = lateness = within = 0.0
    for start, end, fresh in _pieces(freshness, commits, since, until):
        begun = start if begun is None else begun
        length += end - start
        staleness += _area_beyond(fresh, start, end)
        if target is not None:
            lateness += _area_beyond(fresh + target, start, end)
            within += min(end - start, max(0.0, fresh + target - start))
    if begun is None:
        return None
    # The sum of the pieces within the target must not be more than that of all of them, by a last digit.
    kept = None if target is None else min(within, length)
    return Stretch(since=begun, length=length, staleness=staleness, lateness=lateness, within=kept)


def _pieces(
    freshness: float | None, commits: Sequence[tuple[float, float | None]], since: float, until: float
) -> Iterator[tuple[float, float, float]]:
    """From where to where, and how fresh the table was there: all that lies between `since` and `until`."""
    start = since
    for moment, reached in (*commits, (until, None)):
        end = min(moment, until)
        if freshness is not None and end > start:
            yield start, end, freshness
        start, freshness = max(start, end), reached


def _area_beyond(moment: float, start: float, end: float) -> float:
    """The integral of how far time is beyond a moment, from start to end."""
    first, last = max(0.0, start - moment), max(0.0, end - moment)
    return (last - first) * (last + first) / 2
