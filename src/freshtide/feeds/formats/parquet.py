"""Parquet files: everything from the footer, and the time column itself only where the footer is silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from freshtide.core.feeds import Feed, Format
from freshtide.feeds.arrowfiles import (
    BYTES_PER_VALUE,
    MICROS_PER_DAY,
    TO_MICROS,
    ArrowTimes,
    largest,
    reading_with_arrow,
)
from freshtide.feeds.columnfaults import fault_of_columns
from freshtide.feeds.content import Content, Wanted
from freshtide.feeds.errors import UnreadableFileError
from freshtide.feeds.formats.format import require_encoding
from freshtide.feeds.limits import limits_of
from freshtide.feeds.rawfiles import RawFile
from freshtide.feeds.timeformats import is_epoch
from freshtide.feeds.typefaults import fault_of_structs, inner_types, unknown_to_spark

_MAGIC = b"PAR1"
# As the JSON of a Parquet logical type spells them.
_MOST_DIGITS = 38
_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFormat(Format):
    """There are no options: a file says it all."""

    name = "parquet"


class ParquetFiles:
    """A file has columns of types that it knows."""

    options = ParquetFormat
    title = "Parquet"
    aliases = ()
    extensions = (".parquet",)

    def check(self, feed: Feed) -> None:
        require_encoding(feed)

    def read(self, feed: Feed, raw: RawFile, wanted: Wanted) -> Content:
        size, _ = raw.signature
        _check_magic(size, *raw.ends(len(_MAGIC)))
        return _read(feed, raw, wanted, size)

    def column_fault(self, feed: Feed, columns: tuple[str, ...]) -> str | None:
        return fault_of_columns(feed, columns)


def _read(feed: Feed, raw: RawFile, wanted: Wanted, size: int) -> Content:
    with reading_with_arrow(raw.path, "Parquet"), raw.opened_again() as stream, pq.ParquetFile(stream) as file:
        names = tuple(file.schema_arrow.names)
        rows, unpacked = file.metadata.num_rows, _unpacked(file.metadata)
        limits_of(feed, packed=size).check(size=unpacked, rows=rows)
        has_times = wanted.latest and names.count(feed.time.column) == 1
        latest = _latest(ArrowTimes(feed=feed, upto=wanted.upto), file) if has_times else None
        return Content(rows=rows, columns=names, latest=latest, unpacked=unpacked)


def _unpacked(metadata: Any) -> int:
    """Bytes that the rows take in memory, at least."""
    stored: int = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    values: int = metadata.num_rows * metadata.num_columns
    return max(stored, values * BYTES_PER_VALUE)


def nanoseconds(path: str) -> frozenset[tuple[str, ...]]:
    """Where there are times in nanoseconds: names of columns and, within them, of fields, in lower case, `element`,
    `key` and `value`. Nowhere where the file cannot be read, which whoever reads it will find out."""
    return frozenset(
        tuple(name.lower() for name in place)
        for place, kind in _logical_types(path)
        if kind.get("Type") == "Timestamp" and kind.get("timeUnit") == "nanoseconds"
    )


def local_times(path: str) -> frozenset[tuple[str, ...]]:
    """Where there are times without a zone, in the same words. What old writers store in 96 bits are instants."""
    return frozenset(tuple(name.lower() for name in place) for place, kind in _logical_types(path) if _is_local(kind))


def type_faults(path: str) -> dict[str, str]:
    """What is wrong with the types of columns, by their names: Spark would refuse the file, and not name them."""
    found: dict[str, str] = {}
    for (name, *_), kind in _logical_types(path):
        type_, digits = kind.get("Type"), kind.get("precision", 0)
        if type_ in ("Time", "Float16"):
            found.setdefault(name, unknown_to_spark(type_.lower()))
        elif type_ == "Decimal" and digits > _MOST_DIGITS:
            found.setdefault(name, unknown_to_spark(f"decimal({digits},{kind.get('scale', 0)})"))
    with suppress(pa.ArrowException, OSError):
        for field in pq.read_schema(path):
            if fault := fault_of_structs(field.type):
                found.setdefault(field.name, fault)
    return found


def _logical_types(path: str) -> list[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """What a file says of the values in it, by where they are: names of columns and, within them, of fields."""
    try:
        metadata = pq.read_metadata(path)
        places = [place for field in metadata.schema.to_arrow_schema() for place in _leaves(field.type, (field.name,))]
    except (pa.ArrowException, OSError):
        return []
    # Not by Arrow's types: of the times that old writers store in 96 bits, which Spark reads, it makes nanoseconds.
    logical = (metadata.schema.column(place).logical_type.to_json() for place in range(len(metadata.schema)))
    return list(zip(places, map(json.loads, logical), strict=True))


def _leaves(kind: pa.DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Where the values of a type are that Parquet has columns for, in its order."""
    inner = inner_types(kind)
    if not inner:
        yield path
    for name, part in inner:
        yield from _leaves(part, (*path, name))


def _check_magic(size: int, head: bytes, tail: bytes) -> None:
    """Say in plain words what is wrong with the commonest kinds of files that are no Parquet."""
    if size == 0:
        raise UnreadableFileError("The file is empty, without even a Parquet footer.")
    if not head.startswith(_MAGIC):
        raise UnreadableFileError("The file is not Parquet: it does not start with PAR1.")
    if not tail.endswith(_MAGIC):
        raise UnreadableFileError(
            "The Parquet file is torn: its footer is missing.", way_out="Transfer the file again."
        )


def _latest(times: ArrowTimes, file: pq.ParquetFile) -> float | None:
    from_footer = _latest_of_statistics(times, file.metadata)
    if from_footer is not None:
        return max(from_footer, default=None)
    batches = file.iter_batches(batch_size=65_536, columns=[times.feed.time.column])
    values = (batch.column(0) for batch in batches)
    if _is_in_96_bits(times.feed.time.known_column, file.metadata):
        # They are instants, and Arrow gives them without a zone.
        values = (each.cast(pa.timestamp("ns", tz="UTC")) for each in values)
    return largest(map(times.latest, values))


def _is_in_96_bits(column: str, metadata: Any) -> bool:
    columns = (metadata.schema.column(place) for place in range(metadata.num_columns))
    return any(each.path == column and each.physical_type == "INT96" for each in columns)


def _is_local(logical: Mapping[str, Any]) -> bool:
    return logical.get("Type") == "Timestamp" and not logical.get("isAdjustedToUTC", True)


def _latest_of_statistics(times: ArrowTimes, metadata: Any) -> list[float] | None:
    """The largest time of each row group; None where the footer does not tell for all of them."""
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    if times.feed.time.column not in paths:
        return None
    index = paths.index(times.feed.time.column)
    instant = _stored_as(times, metadata.schema.column(index))
    if instant is None:
        return None
    found: list[float] = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(index).statistics
        if statistics is None:
            return None
        if statistics.has_min_max:
            largest = instant(statistics.max_raw)
            if largest is None or times.may_hide_later_ones(largest):
                return None  # an outlier that is no time, or a local one: the next largest may be one, or later
            found.append(largest)
        elif not statistics.has_null_count or statistics.null_count < metadata.row_group(group).num_rows:
            return None
    return found


def _stored_as(times: ArrowTimes, column: Any) -> Callable[[int], float | None] | None:
    """How a stored number becomes an instant; None where the statistics are no numbers to rely on."""
    logical = json.loads(column.logical_type.to_json())
    kind = logical.get("Type")
    if kind == "Timestamp" and logical.get("timeUnit") in _UNITS:
        to_micros = TO_MICROS[_UNITS[logical["timeUnit"]]]
        read = times.local if _is_local(logical) else times.instant
        return lambda value: read(to_micros(value))
    if kind == "Date":
        return lambda value: times.local(value * MICROS_PER_DAY)
    if column.physical_type in ("INT32", "INT64") and kind in ("None", "Int") and is_epoch(times.feed.time.format):
        return times.epoch
    return None
