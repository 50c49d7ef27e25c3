"""Grains: the width of the time buckets that a view groups by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from freshtide.core.durations import format_duration
from freshtide.core.instants import MICROS_PER_SECOND, datetime_at, micros_of

CALENDAR_UNITS = ("week", "month", "quarter", "year")
# The first instant of the calendar, and the first after it.
_FIRST = micros_of(datetime.min.replace(tzinfo=UTC))
_END = micros_of(datetime.max.replace(tzinfo=UTC)) + 1
_DAYS = {"week": (7, 7), "month": (28, 31), "quarter": (90, 92), "year": (365, 366)}


@dataclass(frozen=True, slots=True)
class Grain:
    """Buckets of a fixed width, aligned to the epoch, or of a calendar unit (in UTC).

    Exactly one of the two is set; a width of zero is the grain of single instants, in which every
    timestamp is a bucket of its own. So it is for a calendar unit outside of the years 1 to 9999, where there is no
    calendar.
    """

    width: int = 0
    unit: str | None = None

    @classmethod
    def of_seconds(cls, width: float) -> Grain:
        return cls(width=round(width * MICROS_PER_SECOND))

    @classmethod
    def of_unit(cls, unit: str) -> Grain | None:
        """The grain of a `date_trunc` unit, or None where there is none of that name."""
        lowered = unit.lower()
        aliases = {"mon": "month", "mm": "month", "yyyy": "year", "yy": "year", "dd": "day"}
        name = aliases.get(lowered, lowered)
        fixed = {"microsecond": 1, "millisecond": 1_000, "second": 1_000_000}
        fixed |= {"minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}
        if name in fixed:
            return cls(width=fixed[name])
        return cls(unit=name) if name in CALENDAR_UNITS else None

    @property
    def widths(self) -> tuple[float, float]:
        """The shortest and the longest bucket, in seconds."""
        if self.unit is None:
            return self.width / MICROS_PER_SECOND, self.width / MICROS_PER_SECOND
        shortest, longest = _DAYS[self.unit]
        return shortest * 86_400.0, longest * 86_400.0

    @property
    def is_instant(self) -> bool:
        return self.unit is None and self.width == 0

    def floor(self, at: int) -> int:
        """Start of the bucket that holds the instant (microseconds)."""
        if self.unit is None:
            return at - at % self.width if self.width else at
        return micros_of(_calendar_floor(datetime_at(at), self.unit)) if _FIRST <= at < _END else at

    def ceil(self, at: int) -> int:
        """The first bucket start at or after the instant (microseconds)."""
        start = self.floor(at)
        if start == at:
            return at
        if self.unit is None:
            return start + self.width
        try:
            return micros_of(_next_start(datetime_at(start), self.unit))
        except (OverflowError, ValueError):
            return _END  # It is the last bucket of the calendar.

    def __str__(self) -> str:
        if self.unit is not None:
            return self.unit
        return "instant" if self.is_instant else format_duration(self.width / MICROS_PER_SECOND)


INSTANT = Grain()


def _calendar_floor(moment: datetime, unit: str) -> datetime:
    day = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    if unit == "quarter":
        return day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1)
    return day.replace(month=1, day=1)


def _next_start(start: datetime, unit: str) -> datetime:
    if unit == "week":
        return start + timedelta(days=7)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    years, month = divmod(start.month - 1 + months, 12)
    return start.replace(year=start.year + years, month=month + 1)
