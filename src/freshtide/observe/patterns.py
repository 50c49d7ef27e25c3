"""When the files of a feed come: as they came before, or as the feed declares."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.core.tables import Feed
from freshtide.scheduling.states import ASSUMED_PERIOD

_FILES_LOOKED_AT = 500
_FEWEST_FILES = 3


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
                yield max(0.0, stamp + delay), stamp


def arrival_pattern(feed: Feed, catalog: Catalog, *, poll: float) -> ArrivalPattern:
    """What the catalog remembers of the feed, or what the feed declares where there is too little of it."""
    files = catalog.files.latest(feed.name, _FILES_LOOKED_AT)
    stamped = sorted({file.timestamp: file.arrived_at for file in files if file.timestamp is not None}.items())
    gaps, delays = [], []
    for (before, earlier), (stamp, arrived) in itertools.pairwise(stamped):
        # What piled up while nothing ran came all at once: that says nothing about how the feed delivers.
        if arrived - earlier >= 0.5 * (stamp - before):
            gaps.append(stamp - before)
            delays.append(arrived - stamp)
    newest = stamped[-1][0] if stamped else None
    if len(gaps) < _FEWEST_FILES:
        period = feed.period or ASSUMED_PERIOD
        delay = poll / 2 if feed.settling.marker else poll / 2 + feed.settling.quiet
        return ArrivalPattern(gaps=(period,), delays=(delay,), newest=newest)
    return ArrivalPattern(gaps=_steady(gaps) or _usual(gaps), delays=_usual(delays), newest=newest)


def _steady(gaps: Sequence[float]) -> tuple[float, ...]:
    """The period of a feed that keeps to one, whatever the first or a few other files did."""
    period = statistics.median(gaps)
    alike = sum(abs(gap - period) <= 0.05 * period for gap in gaps)
    return (period,) if alike >= 0.6 * len(gaps) else ()


def _usual(values: Sequence[float]) -> tuple[float, ...]:
    """Without what lies far out above the rest (Tukey's outer fence): nights without a run, and the like."""
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    # Where all are alike, what differs by rounding alone is not far out.
    limit = upper + 3.0 * (upper - lower) + 0.5 * abs(upper)
    return tuple(value for value in values if value <= limit)
