"""File statistics for the Delta log, from Parquet footers.

Bounds are conservative: readers skip files by them, so a bound that is a little too wide costs a read, one that
is a little too narrow loses rows. Where a bound cannot be trusted it is left out.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow.parquet as pq

from freshtide.core.instants import micros_of
from freshtide.storage.values import within_years

_MAX_COLUMNS = 32
_MAX_TEXT = 32
_HIGHEST_CHARACTER = "\U0010ffff"


def delta_statistics(footer: pq.FileMetaData) -> str:
    """The `stats` JSON of an add action."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name, column in list(_top_level_columns(footer).items())[:_MAX_COLUMNS]:
        bounds, null_count = _bounds(footer, name, column)
        if null_count is not None:
            nulls[name] = null_count
        if bounds is not None:
            lowest, highest = _lower_bound(bounds[0]), _upper_bound(bounds[1])
            if lowest is not None:
                low[name] = lowest
            if highest is not None:
                high[name] = highest
    stats = {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}
    return json.dumps(stats)


def time_bounds(footer: pq.FileMetaData, column: str | None) -> tuple[int | None, int | None]:
    """Smallest and largest value of a time column, in microseconds; None where unknown."""
    index = _top_level_columns(footer).get(column) if column else None
    if index is None:
        return None, None
    bounds, _ = _bounds(footer, str(column), index)
    if bounds is None:
        return None, None
    return _as_micros(bounds[0]), _as_micros(bounds[1])


def parse_time_bound(value: Any, *, upper: bool) -> int | None:
    """Microseconds of a bound read back from the log, which keeps milliseconds."""
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    moment = _as_micros(value)
    return moment if moment is None or not upper or moment % 1_000 == 0 else moment + 1_000 - moment % 1_000


def _top_level_columns(footer: pq.FileMetaData) -> dict[str, int]:
    """Names of the columns that are no part of a struct, list or map, with their leaf index."""
    schema = footer.schema
    leaves = (schema.column(index) for index in range(len(schema)))
    return {leaf.name: index for index, leaf in enumerate(leaves) if leaf.path == leaf.name}


def _bounds(footer: pq.FileMetaData, name: str, column: int) -> tuple[tuple[Any, Any] | None, int | None]:
    low = high = None
    nulls: int | None = 0
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(column).statistics
        if statistics is None:
            return None, None
        nulls = nulls + statistics.null_count if nulls is not None and statistics.has_null_count else None
        if not statistics.has_min_max:
            if statistics.num_values:
                return None, nulls
            continue
        lowest, highest = within_years(partial(_extremes, statistics), [name])
        low = lowest if low is None else min(low, lowest)
        high = highest if high is None else max(high, highest)
    return (None if low is None else (low, high)), nulls


def _extremes(statistics: Any) -> tuple[Any, Any]:
    return statistics.min, statistics.max


def _lower_bound(value: Any) -> Any:
    match value:
        case datetime():
            return _millis(value)
        case date():
            return value.isoformat()
        case str():
            return value[:_MAX_TEXT]
        case float():
            # JSON has no infinity.
            return value if math.isfinite(value) else None
    return _plain(value)


def _upper_bound(value: Any) -> Any:
    match value:
        case datetime():
            spare = value.microsecond % 1_000
            try:
                return _millis(value + timedelta(microseconds=1_000 - spare) if spare else value)
            except OverflowError:
                return None  # The last millisecond of the year 9999.
        case date():
            return value.isoformat()
        case str():
            return value if len(value) <= _MAX_TEXT else _text_above(value)
        case float():
            # Readers take NaN for the largest number; footers leave it out of their bounds without a word.
            return None
    return _plain(value)


def _text_above(value: str) -> str | None:
    """A text of bounded length that comes after a long one, where there is such a text."""
    return None if value[_MAX_TEXT] == _HIGHEST_CHARACTER else value[:_MAX_TEXT] + _HIGHEST_CHARACTER


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _millis(moment: datetime) -> str:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_micros(value: Any) -> int | None:
    if isinstance(value, datetime):
        return micros_of(value)
    if isinstance(value, date):
        return micros_of(datetime(value.year, value.month, value.day, tzinfo=UTC))
    return None
