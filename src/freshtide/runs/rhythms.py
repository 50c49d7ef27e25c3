"""The rhythm of a feed (Leontyev et al. 2010, Definition 2): as it is declared, else as its files came.

A file has arrived when it is registered, which is after it has settled and a poll has found it. What is learnt has
that in it. What is declared is about the file itself, and is widened by it: `seen_after`.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from freshtide.catalog import Catalog
from freshtide.core.feeds import Feed
from freshtide.core.health import ArrivalTimes, Rhythm
from freshtide.core.instants import format_instant, micros, seconds
from freshtide.runs.patterns import FILES_LOOKED_AT, Delivery, deliveries, steady_period, usual

# With fewer the next one too often comes earlier or later than all of them.
_FEWEST_FOR_JITTER = 10
# That is also why what is learnt is widened, on each side by this share of its width.
_MARGIN = 0.25
# Whatever the others do, files that differ by so much of a period do not lie far out.
_ALIKE = 0.05


class KnownBy(StrEnum):
    DECLARED = "declared"
    LEARNT = "learnt"
    ASSUMED = "assumed"
    """Neither: taken so that nothing is held against the feed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRhythm:
    """A rhythm, and where each of its values comes from."""

    rhythm: Rhythm
    known_by: Mapping[str, KnownBy]
    """By the name of the value in the rhythm."""

    @property
    def declared(self) -> bool:
        """Whether all of it is: then nothing that arrives can change it."""
        return set(self.known_by.values()) == {KnownBy.DECLARED}

    def as_json(self) -> dict[str, Any]:
        phase = self.rhythm.phase
        return {
            "period": self.rhythm.period,
            "phase": None if phase is None else format_instant(phase),
            "arrival_jitter": self.rhythm.arrival_jitter,
            "timestamp_jitter": self.rhythm.timestamp_jitter,
            "least_age": self.rhythm.least_age,
            "known_by": {name: str(how) for name, how in self.known_by.items()},
        }


def rhythm_of(feed: Feed, catalog: Catalog, *, poll: float) -> FeedRhythm | None:
    """How the feed delivers; None where its period is neither declared nor can be learnt, or it brings no files."""
    if not feed.brings_files:
        return None
    return rhythm_from(feed, catalog.arrivals.times(feed.name, FILES_LOOKED_AT), poll=poll)


def rhythm_from(feed: Feed, arrivals: Iterable[ArrivalTimes], *, poll: float) -> FeedRhythm | None:
    """The same from arrivals that are at hand."""
    watched = deliveries(arrivals)
    period, period_by = _period(feed, watched)
    if period is None:
        return None
    punctual = _punctual(watched)
    phase, phase_by, jitter, jitter_by = _window(feed, period, [d.arrived_at for d in punctual], poll=poll)
    least_age, stamp_jitter, stamp_by = _ages(feed, [d.delay for d in punctual], poll=poll)
    return FeedRhythm(
        rhythm=Rhythm(
            period=period,
            phase=None if phase is None else _whole(phase),
            arrival_jitter=min(period, _whole(jitter)),
            timestamp_jitter=None if stamp_jitter is None else _whole(stamp_jitter),
            least_age=_whole(least_age),
        ),
        known_by={
            "period": period_by,
            "phase": phase_by,
            "arrival_jitter": jitter_by,
            "timestamp_jitter": stamp_by,
        },
    )


def seen_after(feed: Feed, poll: float) -> float:
    """How much later than a file is there it may be registered, where looking and reading take no time."""
    return poll + (0.0 if feed.folder.settling.marker else feed.folder.settling.quiet)


def _whole(value: float) -> float:
    """To the microsecond: what is compared is, and nobody wants to read more."""
    return seconds(micros(value))


def _period(feed: Feed, watched: Sequence[Delivery]) -> tuple[float | None, KnownBy]:
    if feed.rhythm.period is not None:
        return feed.rhythm.period, KnownBy.DECLARED
    gaps = [delivery.gap for delivery in watched]
    rough = steady_period(gaps)
    if rough is None:
        return None, KnownBy.ASSUMED
    # A median is as far off as a single gap; over hundreds of periods that adds up to any phase. In the mean of the
    # gaps between neighbours all but the first and the last file cancel out.
    mean = statistics.fmean(gap for gap in gaps if 0.5 * rough < gap < 1.5 * rough)
    return _whole(mean), KnownBy.LEARNT


def _punctual(watched: Sequence[Delivery]) -> list[Delivery]:
    """Without the files that waited for the next run to begin; none where there are too few to tell."""
    if len(watched) < _FEWEST_FOR_JITTER:
        return []
    latest = max(usual([delivery.delay for delivery in watched]))
    kept = [delivery for delivery in watched if delivery.delay <= latest]
    return kept if len(kept) >= _FEWEST_FOR_JITTER else []


def _window(
    feed: Feed, period: float, arrivals: Sequence[float], *, poll: float
) -> tuple[float | None, KnownBy, float, KnownBy]:
    """Phase and jitter, each with where it comes from: between which moments of a period files are registered."""
    seen = seen_after(feed, poll)
    phase = None if feed.rhythm.phase is None else feed.rhythm.phase + seen
    jitter = None if feed.rhythm.jitter is None else min(period, feed.rhythm.jitter + seen)
    phase_by, jitter_by = KnownBy.DECLARED, KnownBy.DECLARED
    if arrivals and (phase is None or jitter is None):
        first, last = _span(arrivals, period, until=phase)
        margin = _MARGIN * (last - first) + poll
        if phase is None:
            phase, phase_by = last + margin, KnownBy.LEARNT
        if jitter is None:
            jitter, jitter_by = min(period, phase - first + margin), KnownBy.LEARNT
    if phase is None:
        phase_by = KnownBy.ASSUMED
    if jitter is None:
        jitter, jitter_by = period, KnownBy.ASSUMED
    return phase, phase_by, jitter, jitter_by


def _span(arrivals: Sequence[float], period: float, *, until: float | None) -> tuple[float, float]:
    """The shortest stretch of a period in which all files came, but for those far out; where it ends is given or not.

    Times modulo the period lie on a circle, which is cut open where there is nothing for the longest time.
    """
    if until is None:
        newest = arrivals[-1]
        around = sorted((at - newest) % period for at in arrivals)
        gaps = [after - before for before, after in itertools.pairwise([*around, around[0] + period])]
        begin = (gaps.index(max(gaps)) + 1) % len(around)
        origin = newest
        places = [*around[begin:], *(place + period for place in around[:begin])]
    else:
        origin = until - period
        # A file that came at the very moment `until` is the last of its period, not the first of the next.
        places = sorted(period - (until - at) % period for at in arrivals)
    lower, _, upper = statistics.quantiles(places, n=4, method="inclusive")
    reach = 3.0 * (upper - lower) + _ALIKE * period
    kept = [place for place in places if lower - reach <= place <= upper + reach]
    return origin + kept[0], origin + kept[-1]


def _ages(feed: Feed, delays: Sequence[float], *, poll: float) -> tuple[float, float | None, KnownBy]:
    """How old files are at least and at most when they come, and where that comes from."""
    if feed.rhythm.timestamp_jitter is not None:
        return 0.0, feed.rhythm.timestamp_jitter + seen_after(feed, poll), KnownBy.DECLARED
    if not delays:
        return 0.0, None, KnownBy.ASSUMED
    margin = _MARGIN * (max(delays) - min(delays)) + poll
    return max(0.0, min(delays) - margin), max(0.0, max(delays) + margin), KnownBy.LEARNT
