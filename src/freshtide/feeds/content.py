"""What a file holds, as far as its arrival is concerned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from freshtide.core.feeds import UTC_ZONE
from freshtide.feeds.localtimes import local_times
from freshtide.feeds.ranking import ranked_iso_times
from freshtide.feeds.timeformats import parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Records counted, column names the file itself carries, and the largest time in the time column."""

    rows: int
    columns: tuple[str, ...] | None
    latest: float | None = None
    unpacked: int | None = None
    """Bytes of its rows in memory, roughly, where the file tells; of text as many as there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be found out about a file beside its rows and columns."""

    latest: bool
    """Whether the largest time of its time column is."""
    upto: float | None = None
    """Times after this are of the future, and do not count."""


class LatestTime:
    """The largest of the times that can be read; the others are for the loader to reject."""

    def __init__(self, time_format: str | None, *, zone: str = UTC_ZONE, upto: float | None = None) -> None:
        """Texts without an offset are local times of the zone.

        Times after `upto` are of the future, and no more to be relied on than what is no time.
        """
        self._parse = parser(time_format, zone)
        self._local = local_times(zone)
        self._upto = upto
        self._is_iso = time_format is None
        self.instant: float | None = None

    def see(self, values: Iterable[str]) -> None:
        for value in values:
            self._see_one(value)

    def see_fields(self, fields: Iterable[bytes], text_of: Callable[[bytes], str]) -> None:
        """The same for fields as they stand in a file, of which as few as possible are turned into text and parsed."""
        if not self._is_iso:
            self.see(map(text_of, fields))
            return
        for group in ranked_iso_times(fields):
            any(self._see_one(text_of(field)) for field in group)

    def _see_one(self, value: str) -> bool:
        """Whether the value is a time that counts, and none that is smaller as text can be a later one."""
        try:
            instant = self._parse(value)
        except (ValueError, OverflowError):
            return False
        if self._upto is not None and instant > self._upto:
            return False
        if self.instant is None or instant > self.instant:
            self.instant = instant
        return self._local is None or not self._local.may_follow_later_ones(instant)
