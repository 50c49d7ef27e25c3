"""Whether a feed delivers as it should (Leontyev et al. 2010, section II, Definitions 1 and 2).

The paper numbers the files of a feed from its first one on. Of a feed that has been there for years, and whose files
were not watched all the time, nobody knows the numbers: here any of the moments `phase + k * period` will do as the one
at which a file was due. Times are compared in whole microseconds, so that the ends of the intervals are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from freshtide.core.durations import format_duration
from freshtide.core.instants import format_instant, micros, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalTimes:
    """A data file as Definition 1 has it: when it came and how it is stamped."""

    at: float
    timestamp: float | None
    """None where it holds no row with a time."""


def age_spread(timestamp_jitter: float | None, least_age: float) -> float:
    """How much older than another one a file may be when it comes; None stands for a jitter that nobody knows."""
    return max(0.0, (timestamp_jitter or 0.0) - least_age)


def stamp_spread(arrival_jitter: float, ages: float) -> float:
    """Any k files in a row bring at most k periods of data, and so much more; `ages` is how much these differ.

    Of k periods, the first file before them may have come early and old, and their last one late and young.
    """
    return arrival_jitter + ages


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How a feed delivers when it is healthy (Definition 2).

    A file arrives within `arrival_jitter` before one of the moments `phase + k * period`, and is stamped within
    `timestamp_jitter` before it arrives.
    """

    period: float
    phase: float | None
    """An instant: any one of those at which a file is there at the latest. None: not known, any moment is on time."""
    arrival_jitter: float
    timestamp_jitter: float | None
    """None: not known, a time stamp may be as old as it likes."""
    least_age: float = 0.0
    """No file comes with a younger time stamp, as far as is known. A younger one does not make a feed unhealthy."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.arrival_jitter <= self.period or self.period <= 0.0:
            raise ValueError(f"A jitter of {self.arrival_jitter:g}s does not fit into a period of {self.period:g}s.")
        if self.timestamp_jitter is not None and self.timestamp_jitter < 0.0:
            raise ValueError(f"A time stamp jitter is not negative, as {self.timestamp_jitter:g}s is.")

    @property
    def longest_silence(self) -> float:
        """How long a healthy feed brings no file: from the earliest moment for one to the latest for the next."""
        return self.period + self.arrival_jitter

    @property
    def stamp_spread(self) -> float:
        return stamp_spread(self.arrival_jitter, age_spread(self.timestamp_jitter, self.least_age))

    def off_time(self, at: float) -> float:
        """How long after (or, below 0, before) the nearest interval for arrivals a file came; 0 for on time."""
        if self.phase is None:
            return 0.0
        period, jitter = max(1, micros(self.period)), micros(self.arrival_jitter)
        early = (micros(self.phase) - micros(at)) % period
        if early <= jitter:
            return 0.0
        after_the_last, before_the_next = period - early, early - jitter
        return seconds(after_the_last) if after_the_last <= before_the_next else -seconds(before_the_next)


class Ailment(StrEnum):
    """What is wrong with an unhealthy feed."""

    SILENT = "silent"
    """No file has come for longer than the period and the jitter."""
    OFF_TIME = "off time"
    """Files come, but not when they should."""
    OFF_STAMP = "off stamp"
    """Files come in time, but what they hold is too old, or from the future."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a feed is healthy at a moment, and why not."""

    ailment: Ailment | None = None
    reason: str | None = None

    @property
    def healthy(self) -> bool:
        return self.ailment is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A stretch of time without a file that is longer than the period and the jitter of its feed (section II)."""

    silent_since: float
    """When the last file came, or the feed began to be watched."""
    began_at: float
    """When the silence had become an outage."""
    ended_at: float | None = None
    returned: bool = False
    """Whether it ended with a file; otherwise nobody watched any longer."""

    def length(self, now: float) -> float:
        """How long no file has come or did come, from the last one on: the length that section VI goes by."""
        return (now if self.ended_at is None else self.ended_at) - self.silent_since


def health_at(rhythm: Rhythm, arrivals: Iterable[ArrivalTimes], now: float) -> Verdict:
    """Definition 2: healthy with one file that came in `[now - period - jitter, now]`, on time and stamped in time.

    Where there is none, the file that came last tells what is wrong.
    """
    came = [arrival for arrival in arrivals if arrival.at <= now]
    last = max(came, key=lambda arrival: (arrival.at, _or_oldest(arrival.timestamp)), default=None)
    if last is None:
        return Verdict(ailment=Ailment.SILENT, reason="no file has come yet")
    if outage_at(rhythm, last.at, now) is not None:
        since = f"no file has come since {format_instant(round(last.at))}, for {format_duration(now - last.at)}"
        return Verdict(ailment=Ailment.SILENT, reason=since)
    recent = [arrival for arrival in came if micros(arrival.at) >= micros(now) - micros(rhythm.longest_silence)]
    if any(_complaint(rhythm, arrival).healthy for arrival in recent):
        return Verdict()
    return _complaint(rhythm, last)


def outage_at(rhythm: Rhythm, silent_since: float, now: float) -> Outage | None:
    """The outage that a silence has become by now, None while it is no longer than it may be."""
    if micros(now) - micros(silent_since) <= micros(rhythm.longest_silence):
        return None
    return Outage(silent_since=silent_since, began_at=silent_since + rhythm.longest_silence)


def _complaint(rhythm: Rhythm, arrival: ArrivalTimes) -> Verdict:
    """What a file did not keep to, if anything."""
    off = rhythm.off_time(arrival.at)
    if off:
        too = "late" if off > 0 else "early"
        return Verdict(ailment=Ailment.OFF_TIME, reason=f"its last file came {format_duration(abs(off))} too {too}")
    if arrival.timestamp is None:
        return Verdict(ailment=Ailment.OFF_STAMP, reason="its last file has no time stamp")
    behind = micros(arrival.at) - micros(arrival.timestamp)
    if behind < 0:
        ahead = format_duration(seconds(-behind))
        return Verdict(ailment=Ailment.OFF_STAMP, reason=f"its last file is stamped {ahead} after it came")
    if rhythm.timestamp_jitter is not None and behind > micros(rhythm.timestamp_jitter):
        told = f"its last file is stamped {format_duration(seconds(behind))} before it came"
        usual = format_duration(rhythm.timestamp_jitter)
        return Verdict(ailment=Ailment.OFF_STAMP, reason=f"{told}, and {usual} is the most")
    return Verdict()


def _or_oldest(timestamp: float | None) -> float:
    return -math.inf if timestamp is None else timestamp
