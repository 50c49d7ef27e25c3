"""Durations as users write them (`5m`, `90s`, `1h30m`, `15 minutes`), in float seconds."""

from __future__ import annotations

import math
import re

from freshtide.core.errors import DurationError

_SECONDS = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
    "w": 604_800.0,
}
_LONG_NAMES = {
    "microsecond": "us",
    "millisecond": "ms",
    "sec": "s",
    "second": "s",
    "min": "m",
    "minute": "m",
    "hour": "h",
    "day": "d",
    "week": "w",
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


def parse_duration(text: str | int | float) -> float:
    """Seconds of a duration; a bare number counts seconds.

    >>> parse_duration("15 minutes"), parse_duration("1h30m"), parse_duration(2)
    (900.0, 5400.0, 2.0)
    """
    if isinstance(text, bool):
        raise _not_a_duration(text)
    if isinstance(text, int | float):
        return _checked(float(text), text)
    words = text.strip()
    try:
        return _checked(float(words), text)
    except ValueError:
        pass
    total, position = 0.0, 0
    while position < len(words):
        match = _PART.match(words, position)
        if match is None:
            raise _not_a_duration(text)
        total += float(match[1]) * _unit_seconds(match[2], text)
        position = match.end()
    if not words:
        raise _not_a_duration(text)
    return _checked(total, text)


def format_duration(seconds: float) -> str:
    """A duration for people, two units at most: `4.2s`, `3m 20s`, `2h 5m`, `4d 1h`."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if seconds < 59.95:  # From there on it would be shown as 60.0s.
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    whole = round(seconds)
    for unit, below, size, rest in (("m", "s", 60, 1), ("h", "m", 3_600, 60), ("d", "h", 86_400, 3_600)):
        if unit == "d" or whole < size * (60 if unit == "m" else 24):
            many, left = divmod(whole, size)
            return f"{many}{unit} {left // rest}{below}" if left // rest else f"{many}{unit}"
    raise AssertionError("unreachable: days take every length")


def _unit_seconds(name: str, text: object) -> float:
    lowered = name.lower()
    unit = _LONG_NAMES.get(lowered.removesuffix("s"), lowered)
    if unit not in _SECONDS:
        raise _not_a_duration(text)
    return _SECONDS[unit]


def _checked(seconds: float, text: object) -> float:
    if seconds < 0 or not math.isfinite(seconds):
        raise _not_a_duration(text)
    return seconds


def _not_a_duration(text: object) -> DurationError:
    return DurationError(f"'{text}' is not a duration.", way_out="Write it like 90s, 5m, 1h30m or '15 minutes'.")
