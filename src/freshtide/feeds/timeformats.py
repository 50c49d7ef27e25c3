"""Times as feeds write them: ISO 8601, seconds or milliseconds since the epoch, or a Spark datetime pattern.

A pattern becomes a regular expression instead of a `strptime` format: that is several times faster, and as
strict about the number of digits as Spark is.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from freshtide.core.feeds import UTC_ZONE
from freshtide.core.instants import MICROS_PER_SECOND, micros_of, seconds
from freshtide.feeds.errors import TimeFormatError
from freshtide.feeds.localtimes import zone_of

EPOCH_SECONDS = "epoch_seconds"
EPOCH_MILLIS = "epoch_millis"

_OLDEST = micros_of(datetime.min)
_NEWEST = micros_of(datetime.max)
_FIRST, _LAST = seconds(_OLDEST), seconds(_NEWEST)
_MICROS_PER_UNIT = {EPOCH_SECONDS: MICROS_PER_SECOND, EPOCH_MILLIS: 1_000}
_TOKEN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>(?P<letter>[A-Za-z])(?P=letter)*)|(?P<other>.)", re.DOTALL)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_TWO, _ONE_OR_TWO = r"\d\d", r"\d\d?"
_FIELDS = {
    "yyyy": ("year", r"\d{4}"),
    "yy": ("short_year", _TWO),
    "MMM": ("month_name", f"(?i:{'|'.join(_MONTHS)})"),
    "MM": ("month", _TWO),
    "M": ("month", _ONE_OR_TWO),
    "dd": ("day", _TWO),
    "d": ("day", _ONE_OR_TWO),
    "HH": ("hour", _TWO),
    "H": ("hour", _ONE_OR_TWO),
    "hh": ("half_hour", _TWO),
    "h": ("half_hour", _ONE_OR_TWO),
    "mm": ("minute", _TWO),
    "m": ("minute", _ONE_OR_TWO),
    "ss": ("second", _TWO),
    "s": ("second", _ONE_OR_TWO),
    "a": ("half", "(?i:am|pm)"),
    "XXX": ("offset", r"Z|[+-]\d\d:\d\d"),
    "XX": ("offset", r"Z|[+-]\d{4}"),
    "X": ("offset", r"Z|[+-]\d\d(?:\d\d)?"),
    "xxx": ("offset", r"[+-]\d\d:\d\d"),
    "xx": ("offset", r"[+-]\d{4}"),
    "x": ("offset", r"[+-]\d\d(?:\d\d)?"),
    "Z": ("offset", r"[+-]\d{4}"),
}
_SUPPORTED = (
    "Supported are yyyy yy MMM MM M dd d HH H hh h mm m ss s S to SSSSSSSSS a XXX XX X xxx xx x Z, other text "
    f"in single quotes ('T'), optional parts in [ ], and instead of a pattern {EPOCH_SECONDS} or {EPOCH_MILLIS}."
)


@functools.lru_cache(maxsize=256)
def parser(time_format: str | None, zone: str = UTC_ZONE) -> Callable[[str], float]:
    """The function from a text to float seconds, exact to the microsecond; ValueError for bad values.

    A text without an offset is a local time of the zone.
    """
    local = zone_of(zone)
    if time_format is None:
        return functools.partial(_parse_iso, local)
    if is_epoch(time_format):
        return functools.partial(_parse_epoch, _MICROS_PER_UNIT[time_format])
    return functools.partial(_parse_fields, _pattern(time_format), local)


def check_time_format(text: str | None) -> None:
    """Raise a TimeFormatError that says what is supported, unless the format can be read."""
    parser(text)


def is_epoch(time_format: str | None) -> bool:
    """Whether the times of a feed are numbers."""
    return time_format in _MICROS_PER_UNIT


def instant_of(whole_micros: int) -> float:
    """Float seconds; ValueError beyond the years 1 to 9999, which no table can hold."""
    if not _OLDEST <= whole_micros <= _NEWEST:
        raise ValueError(f"{whole_micros} microseconds lie outside of the years 1 to 9999")
    return seconds(whole_micros)


def epoch_instant(number: float, time_format: str) -> float:
    """Float seconds of a number of seconds or milliseconds."""
    if not math.isfinite(number):
        raise ValueError(f"{number} is no time")
    return instant_of(round(number * _MICROS_PER_UNIT[time_format]))


def _parse_iso(local: tzinfo, text: str) -> float:
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=local)
    return _instant_at(moment)


def _parse_epoch(unit: int, text: str) -> float:
    number = float(text)
    if "_" in text or not math.isfinite(number):
        raise ValueError(f"'{text}' is no number of seconds")
    return instant_of(round(number * unit))


def _parse_fields(pattern: re.Pattern[str], local: tzinfo, text: str) -> float:
    match = pattern.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' does not match the time format")
    found = match.groupdict().get
    moment = datetime(
        int(found("year") or _full_year(found("short_year"))),
        int(found("month") or _month(found("month_name"))),
        int(found("day") or 1),
        int(found("hour") or _full_hour(found("half_hour"), found("half"))),
        int(found("minute") or 0),
        int(found("second") or 0),
        # Digits beyond the microsecond are cut off, as Spark does.
        int((found("fraction") or "0")[:6].ljust(6, "0")),
        tzinfo=_fixed(offset) if (offset := found("offset")) else local,
    )
    return _instant_at(moment)


def _instant_at(moment: datetime) -> float:
    # For aware datetimes this divides whole microseconds once: the same float as core.instants gives.
    instant = moment.timestamp()
    if not _FIRST <= instant <= _LAST:
        raise ValueError(f"{moment} is not in the years 1 to 9999 of UTC")
    return instant


def _full_year(short: str | None) -> int:
    return 1970 if short is None else 2000 + int(short)


def _month(name: str | None) -> int:
    return 1 if name is None else _MONTHS.index(name.lower()) + 1


def _full_hour(half_hour: str | None, half: str | None) -> int:
    if half_hour is None:
        return 0
    hour = int(half_hour)
    if not 1 <= hour <= 12:
        raise ValueError(f"{hour} is no hour between 1 and 12")
    return hour % 12 + (12 if (half or "am").lower() == "pm" else 0)


@functools.lru_cache(maxsize=256)
def _fixed(offset: str) -> timezone:
    if offset == "Z":
        return UTC
    digits = offset[1:].replace(":", "").ljust(4, "0")
    distance = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-distance if offset[0] == "-" else distance)


@functools.lru_cache(maxsize=256)
def _pattern(time_format: str) -> re.Pattern[str]:
    try:
        return re.compile("".join(_translated(time_format)), re.ASCII)
    except re.error:
        # Only an unbalanced bracket or a field that occurs twice can be left to go wrong.
        raise TimeFormatError(
            f"The time format '{time_format}' names a part twice or leaves a [ open.", way_out=_SUPPORTED
        ) from None


def _translated(time_format: str) -> Iterator[str]:
    for token in _TOKEN.finditer(time_format):
        letters, other = token["letters"], token["other"]
        if token["quoted"] is not None:
            yield re.escape(token["quoted"].replace("''", "'") or "'")
        elif other is not None:
            yield {"[": "(?:", "]": ")?"}.get(other, re.escape(other))
        elif set(letters) == {"S"} and len(letters) <= 9:
            yield rf"(?P<fraction>\d{{1,{len(letters)}}})"
        elif letters in _FIELDS:
            name, digits = _FIELDS[letters]
            yield f"(?P<{name}>{digits})"
        else:
            raise TimeFormatError(
                f"'{letters}' in the time format '{time_format}' is not supported.", way_out=_SUPPORTED
            )
