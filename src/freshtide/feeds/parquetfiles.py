"""Parquet files: everything from the footer, and the time column itself only where the footer is silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from freshtide.core.tables import Feed
from freshtide.feeds.content import Content, LatestTime
from freshtide.feeds.errors import UnreadableFileError, unread
from freshtide.feeds.limits import limits_of
from freshtide.feeds.timeformats import epoch_instant, instant_of, is_epoch

_MAGIC = b"PAR1"
_BYTES_PER_VALUE = 8
_MICROS_PER_DAY = 86_400_000_000
_TO_MICROS: dict[str, Callable[[int], int]] = {
    "s": lambda value: value * 1_000_000,
    "ms": lambda value: value * 1_000,
    "us": lambda value: value,
    "ns": lambda value: value // 1_000,
}
# As the JSON of a Parquet logical type spells them.
_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


def read_parquet(feed: Feed, path: str, *, with_latest: bool) -> Content:
    """Rows and columns, and the largest time if it is wanted."""
    try:
        with pq.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
            rows, unpacked = file.metadata.num_rows, _unpacked(file.metadata)
            limits_of(feed, packed=Path(path).stat().st_size).check(size=unpacked, rows=rows)
            wanted = with_latest and names.count(feed.time_column) == 1
            latest = _latest(feed, file) if wanted else None
            return Content(rows=rows, columns=names, latest=latest, unpacked=unpacked)
    except (pa.ArrowException, OSError) as error:
        # What Arrow makes of broken content is an OSError as well, but without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise unread(path, error) from error
        raise UnreadableFileError(f"The file is not readable as Parquet: {_first_line(error)}") from error


def _unpacked(metadata: Any) -> int:
    """Bytes that the rows take in memory, at least: a value that is repeated is stored once, and not there."""
    stored: int = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    values: int = metadata.num_rows * metadata.num_columns
    return max(stored, values * _BYTES_PER_VALUE)


def check_magic(size: int, head: bytes, tail: bytes) -> None:
    """Say in plain words what is wrong with the commonest kinds of files that are no Parquet."""
    if size == 0:
        raise UnreadableFileError("The file is empty, without even a Parquet footer.")
    if not head.startswith(_MAGIC):
        raise UnreadableFileError("The file is not Parquet: it does not start with PAR1.")
    if not tail.endswith(_MAGIC):
        raise UnreadableFileError(
            "The Parquet file is torn: its footer is missing.", way_out="Transfer the file again."
        )


def _latest(feed: Feed, file: pq.ParquetFile) -> float | None:
    from_footer = _latest_of_statistics(feed, file.metadata)
    if from_footer is not None:
        return max(from_footer, default=None)
    batches = file.iter_batches(batch_size=65_536, columns=[feed.time_column])
    return _largest(_latest_of(feed, batch.column(0)) for batch in batches)


def _latest_of_statistics(feed: Feed, metadata: Any) -> list[float] | None:
    """The largest time of each row group; None where the footer does not tell for all of them."""
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    if feed.time_column not in paths:
        return None
    index = paths.index(feed.time_column)
    instant = _stored_as(feed, metadata.schema.column(index))
    if instant is None:
        return None
    found: list[float] = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(index).statistics
        if statistics is None:
            return None
        if statistics.has_min_max:
            largest = instant(statistics.max_raw)
            if largest is None:
                return None  # an outlier that is no time: the next largest may be one
            found.append(largest)
        elif not statistics.has_null_count or statistics.null_count < metadata.row_group(group).num_rows:
            return None
    return found


def _stored_as(feed: Feed, column: Any) -> Callable[[int], float | None] | None:
    """How a stored number becomes an instant; None where the statistics are no numbers to rely on."""
    logical = json.loads(column.logical_type.to_json())
    kind = logical.get("Type")
    if kind == "Timestamp" and logical.get("timeUnit") in _UNITS:
        to_micros = _TO_MICROS[_UNITS[logical["timeUnit"]]]
        return lambda value: _instant(to_micros(value))
    if kind == "Date":
        return lambda value: _instant(value * _MICROS_PER_DAY)
    if column.physical_type in ("INT32", "INT64") and kind in ("None", "Int") and is_epoch(feed.time_format):
        return lambda value: _epoch(feed, value)
    return None


def _latest_of(feed: Feed, values: pa.Array) -> float | None:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _latest_of(feed, values.dictionary_decode())
    if pa.types.is_timestamp(kind):
        to_micros = _TO_MICROS[kind.unit]
        return _largest_of(values.cast(pa.int64()), lambda value: _instant(to_micros(value)))
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32())
        return _largest_of(days, lambda value: _instant(value * _MICROS_PER_DAY))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _largest_of(values, lambda value: _epoch(feed, value))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _latest_text(feed, values.drop_null().unique().to_pylist())
    return None


def _largest_of(numbers: pa.Array, instant: Callable[[Any], float | None]) -> float | None:
    largest = pc.max(numbers).as_py()
    if largest is None:
        return None
    found = instant(largest)
    if found is None:
        # An outlier that is no time hides the others: go through all of them.
        found = _largest(map(instant, numbers.drop_null().unique().to_pylist()))
    return found


def _largest(instants: Iterable[float | None]) -> float | None:
    return max((instant for instant in instants if instant is not None), default=None)


def _latest_text(feed: Feed, texts: list[str]) -> float | None:
    latest = LatestTime(feed.time_format)
    latest.see(texts)
    return latest.instant


def _epoch(feed: Feed, value: float) -> float | None:
    if feed.time_format is None or not is_epoch(feed.time_format):
        return None
    try:
        return epoch_instant(value, feed.time_format)
    except ValueError:
        return None


def _instant(whole_micros: int) -> float | None:
    try:
        return instant_of(whole_micros)
    except ValueError:
        return None


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].rstrip(".") + "."
