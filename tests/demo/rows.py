"""The rows of generated files, read without Spark: values as text or as JSON and Parquet give them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from freshtide.core.feeds import Feed
from freshtide.core.instants import micros, micros_of
from freshtide.feeds import parser
from freshtide.feeds.formats import CsvFormat, JsonFormat, ParquetFormat

Row = Mapping[str, Any]


def read_rows(feed: Feed, path: Path) -> Iterator[Row | None]:
    """The rows of a file; None for one that cannot be taken apart."""
    if isinstance(feed.format, ParquetFormat):
        yield from pq.read_table(path).to_pylist()
        return
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
    if isinstance(feed.format, JsonFormat):
        for line in lines:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                yield None
        return
    options = CsvFormat.of(feed)
    names = None if options.header else feed.column_names
    yield from csv.DictReader(lines, names, delimiter=options.delimiter, quotechar=options.quote)


def fits(feed: Feed, row: Row | None) -> bool:
    """Whether a row has just the declared columns, with values of their types."""
    if row is None or tuple(row) != feed.column_names:
        return False
    return all(
        _fits(row[c.name], c.type, feed, nullable=c.nullable) for c in feed.schema if c.name != feed.time.known_column
    )


def stamp(feed: Feed, row: Row) -> int:
    """The row's time in whole microseconds."""
    value = row[feed.time.known_column]
    return micros_of(value) if isinstance(value, datetime) else micros(parser(feed.time.format)(str(value)))


def _fits(value: object, kind: str, feed: Feed, *, nullable: bool) -> bool:
    if value is None or value == getattr(feed.format, "null_value", ""):
        return nullable
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "int" | "bigint":
            return str(value).isdigit()
        case "double":
            return isinstance(value, float)
        case "decimal(5, 2)":
            return _is_percentage(str(value))
    raise AssertionError(f"no column of the demo is of type {kind}")


def _is_percentage(text: str) -> bool:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    return 0 <= number < 1_000 and number == number.quantize(Decimal("0.01"))
