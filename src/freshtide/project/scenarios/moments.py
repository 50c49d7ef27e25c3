"""Moments in a scenario: files with their time stamps, and intervals."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from freshtide.core.durations import parse_duration
from freshtide.project.notation.validation import plain, understood, wrong


def _pair(value: object) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise wrong("Two moments are expected here.", way_out="Write them like [4, 3].")
    first, second = (understood(parse_duration, plain(moment, "a moment")) for moment in value)
    return first, second


def _file(value: object) -> tuple[float, float]:
    moment, stamp = _pair(value)
    if stamp > moment:
        # Its table would be fresher than now.
        assert isinstance(value, list), "or it would not be two moments"
        raise wrong(
            f"The file that arrives at {value[0]} is stamped {value[1]}, which is in its future.",
            way_out="Write [arrival, time stamp], with a time stamp that is no later than the arrival.",
        )
    return moment, stamp


def _interval(value: object) -> tuple[float, float]:
    start, end = _pair(value)
    if not start < end:
        raise wrong("An interval must end after it has begun.", way_out="Write it like [start, end].")
    return start, end


def _span(value: object) -> tuple[float, float]:
    if isinstance(value, list):
        return _interval(value)
    moment: float = understood(parse_duration, plain(value, "a moment or an interval"))
    return moment, moment


File = Annotated[tuple[float, float], BeforeValidator(_file)]
"""Arrival and time stamp."""
Interval = Annotated[tuple[float, float], BeforeValidator(_interval)]
Span = Annotated[tuple[float, float], BeforeValidator(_span)]
"""A moment, or an interval."""
