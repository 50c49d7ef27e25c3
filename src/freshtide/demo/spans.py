"""Instants and spans of the demo's files, in whole milliseconds: the finest that all of its formats can write."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from freshtide.core.instants import datetime_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time that a file covers: after `begin`, up to and including `end`."""

    index: int
    """How many files of its feed came before."""
    begin: int
    end: int

    def stamps(self, count: int) -> list[int]:
        """Instants spread evenly over the span, the last one at its end."""
        length = self.end - self.begin
        return [self.begin + length * (place + 1) // count for place in range(count)]


def millis(seconds: float) -> int:
    """Whole milliseconds of an instant in float seconds."""
    return round(seconds * 1_000)


def moment(at: int) -> datetime:
    return datetime_of(at / 1_000)


def iso(at: int) -> str:
    """2026-05-01T12:00:00.250Z"""
    return moment(at).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1_000:03d}Z"


def plain(at: int) -> str:
    """2026-05-01 12:00:00.250"""
    return moment(at).strftime("%Y-%m-%d %H:%M:%S.") + f"{at % 1_000:03d}"


def compact(at: int) -> str:
    """20260501T120000.250, for the names of files."""
    return moment(at).strftime("%Y%m%dT%H%M%S.") + f"{at % 1_000:03d}"
