"""When the files of a feed come: as they came before, or as the feed declares."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.core.feeds import Feed
from freshtide.core.health import ArrivalTimes
from freshtide.scheduling import ASSUMED_PERIOD

FILES_LOOKED_AT = 500
_FEWEST_FILES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A time stamp of a feed that was watched when it came."""

    gap: float
    """From the time stamp before it."""
    arrived_at: float
    timestamp: float

    @property
    def delay(self) -> float:
        return self.arrived_at - self.timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalPattern:
    """Distances between time stamps, and delays between a file's time stamp and its arrival, in turn."""

    gaps: tuple[float, ...]
    delays: tuple[float, ...]
    """Polling and settling are in them: a file has arrived when it is registered."""
    newest: float | None
    """The newest time stamp of all; None if there is no history."""

    @property
    def learnt(self) -> bool:
        return self.newest is not None

    @property
    def period(self) -> float:
        return statistics.fmean(self.gaps)

    @property
    def delay(self) -> float:
        return statistics.fmean(self.delays)

    def files(self, *, since: float, length: float) -> Iterator[tuple[float, float]]:
        """(moment, time stamp) of what comes in so many seconds, both counted from `since`."""
        stamp = 0.0
        if self.newest is not None:
            # In step with the other feeds: their files come when they came before.
            stamp = -((since - self.newest) % self.period)
        for gap, delay in zip(itertools.cycle(self.gaps), itertools.cycle(self.delays), strict=False):
            stamp += gap
            if stamp > length:
                return
            if stamp > 0.0:
                # Where clocks differ, files are registered before their time stamp: nothing gets fresher than now.
                yield stamp + max(0.0, delay), stamp


def arrival_pattern(feed: Feed, catalog: Catalog, *, poll: float) -> ArrivalPattern:
    """What the catalog remembers of the feed, or what the feed declares where there is too little of it."""
    files = catalog.arrivals.latest(feed.name, FILES_LOOKED_AT)
    watched = deliveries(ArrivalTimes(at=file.arrived_at, timestamp=file.timestamp) for file in files)
    gaps, delays = [delivery.gap for delivery in watched], [delivery.delay for delivery in watched]
    newest = max((file.timestamp for file in files if file.timestamp is not None), default=None)
    if len(gaps) < _FEWEST_FILES:
        period = feed.rhythm.period or ASSUMED_PERIOD
        delay = poll / 2 if feed.folder.settling.marker else poll / 2 + feed.folder.settling.quiet
        return ArrivalPattern(gaps=(period,), delays=(delay,), newest=newest)
    steady = steady_period(gaps)
    return ArrivalPattern(gaps=usual(gaps) if steady is None else (steady,), delays=usual(delays), newest=newest)


def deliveries(arrivals: Iterable[ArrivalTimes]) -> list[Delivery]:
    """The files by time stamp, one for each, without what piled up while nothing ran.

    That came all at once and says nothing about how the feed delivers. The oldest of it is left in: seen by itself it
    came after a long gap, or late.
    """
    stamped = sorted({file.timestamp: file.at for file in arrivals if file.timestamp is not None}.items())
    return [
        Delivery(gap=stamp - before, arrived_at=arrived, timestamp=stamp)
        for (before, earlier), (stamp, arrived) in itertools.pairwise(stamped)
        if arrived - earlier >= 0.5 * (stamp - before)
    ]


def steady_period(gaps: Sequence[float]) -> float | None:
    """The period of a feed that keeps to one, whatever the first or a few other files did."""
    if len(gaps) < _FEWEST_FILES:
        return None
    period = statistics.median(gaps)
    alike = sum(abs(gap - period) <= 0.05 * period for gap in gaps)
    return period if alike >= 0.6 * len(gaps) else None


def usual(values: Sequence[float]) -> tuple[float, ...]:
    """Without what lies far out above the rest (Tukey's outer fence): nights without a run, and the like."""
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    # Where all are alike, what differs by rounding alone is not far out.
    limit = upper + 3.0 * (upper - lower) + 0.5 * abs(upper)
    return tuple(value for value in values if value <= limit)
