"""Files that Arrow reads: what it says about broken ones, and the times of a column, be they times, numbers or text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.core.feeds import Feed
from freshtide.feeds.content import LatestTime
from freshtide.feeds.errors import UnreadableFileError, first_line, unread
from freshtide.feeds.localtimes import local_times
from freshtide.feeds.timeformats import epoch_instant, instant_of, is_epoch

BYTES_PER_VALUE = 8
"""What a value takes in memory, at least: one that is repeated is stored once, and not there."""
MICROS_PER_DAY = 86_400_000_000
TO_MICROS: dict[str, Callable[[int], int]] = {
    "s": lambda value: value * 1_000_000,
    "ms": lambda value: value * 1_000,
    "us": lambda value: value,
    "ns": lambda value: value // 1_000,
}


@contextmanager
def reading_with_arrow(path: str, title: str) -> Iterator[None]:
    """Raise what Arrow finds wrong with a file as what that means for the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # What Arrow makes of broken content is an OSError as well, but without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise unread(path, error) from error
        raise UnreadableFileError(f"The file is not readable as {title}: {first_line(error)}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowTimes:
    """Values as instants; None for those that are no time, or of the future."""

    feed: Feed
    upto: float | None

    def latest(self, values: pa.Array) -> float | None:
        """The largest of many."""
        kind = values.type
        if pa.types.is_dictionary(kind):
            return self.latest(values.dictionary_decode())
        if pa.types.is_timestamp(kind):
            to_micros, read = TO_MICROS[kind.unit], self.instant if kind.tz is not None else self.local
            return self._largest_of(values.cast(pa.int64()), lambda value: read(to_micros(value)))
        if pa.types.is_date(kind):
            days = values.cast(pa.date32()).cast(pa.int32())
            return self._largest_of(days, lambda value: self.local(value * MICROS_PER_DAY))
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return self._largest_of(values, self.epoch)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._latest_text(values.drop_null().unique().to_pylist())
        return None

    def instant(self, whole_micros: int) -> float | None:
        try:
            return self._counted(instant_of(whole_micros))
        except ValueError:
            return None

    def local(self, whole_micros: int) -> float | None:
        """The instant of a local time of the feed's zone."""
        local = local_times(self.feed.zone_of_times)
        if local is None:
            return self.instant(whole_micros)
        try:
            return self.instant(local.micros(whole_micros))
        except ValueError:
            return None

    def may_hide_later_ones(self, instant: float) -> bool:
        """Whether a smaller local time than that of this instant may be of a later one."""
        local = local_times(self.feed.zone_of_times)
        return local is not None and local.may_follow_later_ones(instant)

    def epoch(self, value: float) -> float | None:
        time_format = self.feed.time.format
        if time_format is None or not is_epoch(time_format):
            return None
        try:
            return self._counted(epoch_instant(value, time_format))
        except ValueError:
            return None

    def _counted(self, instant: float) -> float | None:
        return instant if self.upto is None or instant <= self.upto else None

    def _latest_text(self, texts: list[str]) -> float | None:
        latest = LatestTime(self.feed.time.format, zone=self.feed.zone_of_times, upto=self.upto)
        latest.see(texts)
        return latest.instant

    def _largest_of(self, numbers: pa.Array, instant: Callable[[Any], float | None]) -> float | None:
        greatest = pc.max(numbers).as_py()
        if greatest is None:
            return None
        found = instant(greatest)
        if found is None or self.may_hide_later_ones(found):
            # An outlier that is no time hides the others, or a local time one that is later: go through all of them.
            found = largest(map(instant, numbers.drop_null().unique().to_pylist()))
        return found


def largest(instants: Iterable[float | None]) -> float | None:
    return max((instant for instant in instants if instant is not None), default=None)
