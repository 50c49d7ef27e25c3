"""When the files of a feed come: as they came before, or as the feed declares."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.core.feeds import Feed
from freshtide.core.health import ArrivalTimes
from freshtide.scheduling import ASSUMED_PERIOD

FILES_LOOKED_AT = 500
_FEWEST_FILES = 3
# Files that come by chance alone are silent for longer than what follows from it once in some 150 histories.
_SURPRISE = 5.0
# A feed that leaves out more than this share of its files does so by habit.
_NOW_AND_THEN = 0.05


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
    """Files in the order in which they come, over and over again: how long after the one before, and how old."""

    gaps: tuple[float, ...]
    """Between time stamps where these are in step, else between arrivals."""
    delays: tuple[float, ...]
    """Between a file's time stamp and its arrival, in turn; one for each gap unless time stamps are in step.

    Polling and settling are in them: a file has arrived when it is registered."""
    newest: float | None = None
    """The newest time stamp of all; None if there is no history."""
    last_at: float | None = None
    """When the last file came, where time stamps are not in step: files go on from there, each as old as it was."""

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
        if self.last_at is None:
            return self._in_step(since, length)
        return self._as_they_came(since - self.last_at, length)

    def _in_step(self, since: float, length: float) -> Iterator[tuple[float, float]]:
        known = 0.0 if self.newest is None else self.newest - since
        # In step with the other feeds: their files come when they came before.
        stamp = -(-known % self.period)
        # What is stamped before and has not come yet is on its way.
        stamp -= self.period * math.ceil(max(0.0, *self.delays) / self.period)
        for gap, delay in zip(itertools.cycle(self.gaps), itertools.cycle(self.delays), strict=False):
            stamp += gap
            if stamp > length:
                return
            # Where clocks differ, files are registered before their time stamp: nothing gets fresher than now.
            moment = stamp + max(0.0, delay)
            if stamp > known and moment > 0.0:
                yield moment, stamp

    def _as_they_came(self, passed: float, length: float) -> Iterator[tuple[float, float]]:
        moment = -(passed % sum(self.gaps))
        for gap, delay in itertools.cycle(zip(self.gaps, self.delays, strict=True)):
            moment += gap
            if moment > length:
                return
            if moment > 0.0:
                yield moment, moment - max(0.0, delay)


def arrival_pattern(feed: Feed, catalog: Catalog, *, poll: float) -> ArrivalPattern:
    """What the catalog remembers of the feed, or what the feed declares where there is too little of it."""
    files = catalog.arrivals.latest(feed.name, FILES_LOOKED_AT)
    times = [ArrivalTimes(at=file.arrived_at, timestamp=file.timestamp) for file in files]
    gaps = [delivery.gap for delivery in deliveries(times)]
    newest = max((file.timestamp for file in files if file.timestamp is not None), default=None)
    came = watched(times, poll=poll)
    if min(len(gaps), len(came)) < _FEWEST_FILES:
        period = feed.rhythm.period or ASSUMED_PERIOD
        delay = poll / 2 if feed.folder.settling.marker else poll / 2 + feed.folder.settling.quiet
        return ArrivalPattern(gaps=(period,), delays=(delay,), newest=newest)
    delays = tuple(file.age for file in came)
    steady = steady_period(gaps)
    if steady is not None and not _skips(gaps, steady):
        return ArrivalPattern(gaps=(steady,), delays=delays, newest=newest)
    return ArrivalPattern(gaps=tuple(file.wait for file in came), delays=delays, newest=newest, last_at=times[-1].at)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A file that came while somebody watched."""

    wait: float
    """From the file that came before it, whatever their time stamps."""
    age: float


def watched(arrivals: Sequence[ArrivalTimes], *, poll: float) -> list[Watched]:
    """The files in the order of their arrival, but for what followed a silence that is none of the feed's habits.

    That is a night without a run, or an outage: the silence is left out with what had piled up in it, and so is what
    was found at first. Nothing else is, however long it took or however old it was: what is rare and long makes up much
    of staleness.
    """
    stamped = [(file.at, file.timestamp) for file in arrivals if file.timestamp is not None]
    waits = [max(0.0, later - earlier) for (earlier, _), (later, _) in itertools.pairwise(stamped)]
    longest = _longest_by_chance(waits, poll=poll)
    found: list[Watched] = []
    newest, is_catching_up = -math.inf, True
    for wait, (_, before), (at, stamp) in zip(waits, stamped, stamped[1:], strict=False):
        newest = max(newest, before)
        # What piled up brings seconds of data in no time.
        is_catching_up = wait > longest or (is_catching_up and wait <= 0.5 * max(0.0, stamp - newest))
        if not is_catching_up:
            found.append(Watched(wait=wait, age=at - stamp))
    return found


def _longest_by_chance(waits: Sequence[float], *, poll: float) -> float:
    """How long files hardly ever keep waiting, if each may come at any moment (their waits are exponential then)."""
    # Files that one look finds have not kept anybody waiting.
    apart = [wait for wait in waits if wait > 0.5 * poll]
    if not apart:
        return math.inf
    return statistics.median(apart) / math.log(2.0) * (math.log(len(apart)) + _SURPRISE)


def _skips(gaps: Sequence[float], period: float) -> bool:
    """Whether files are missing too often for it to be a few outages."""
    missing = sum(gap > 1.5 * period for gap in gaps)
    return missing >= _FEWEST_FILES and missing > _NOW_AND_THEN * len(gaps)


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
