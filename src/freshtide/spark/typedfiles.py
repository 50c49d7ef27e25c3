"""What the formats have in common whose files know the types of their columns.

A file is read with its own types. Where these are not the declared ones, its values are converted, and a row with a
value that cannot be is rejected. A column of which no value could be converted keeps the file from being loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_type

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import UTC_ZONE, Column, Feed
from freshtide.feeds import RETRY, fault_of_structs, inner_types, unknown_to_spark
from freshtide.spark.conversions import converted
from freshtide.spark.failures import UnreadableFilesError
from freshtide.spark.formats.format import NO_TEXT, Layout
from freshtide.spark.parsedtexts import unparsed_values
from freshtide.spark.schemas import quoted, type_text
from freshtide.spark.timesinside import Path, times_of_zone
from freshtide.spark.verdicts import CONTENT


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLayout(Layout):
    own: tuple[str, ...]
    """The types that the files have for the columns, in their order."""
    local: frozenset[Path] = frozenset()
    """Where the files have times that say no zone, and dates."""

    def value(self, column: Column) -> str:
        if column.name == self.feed.time.column and self.feed.time.format is not None:
            return f"{self._written(column)} AS {quoted(column.name)}"
        name = quoted(column.name)
        value = self._converted(column)
        return name if value == name else f"{value} AS {name}"

    @property
    def content(self) -> str:
        """The values of a row of which one is not of its type, as JSON."""
        changed = [(quoted(column.name), self._converted(column)) for column in self._plain]
        failed = [f"({name} IS NOT NULL AND {value} IS NULL)" for name, value in changed if value != name]
        if not failed:
            return f"{NO_TEXT} AS {CONTENT}"
        values = ", ".join(quoted(column.name) for column in self.present)
        return f"CASE WHEN {' OR '.join(failed)} THEN to_json(struct({values})) END AS {CONTENT}"

    def complaints(self, columns: Sequence[Column]) -> list[SparkColumn]:
        texts = sf.from_json(sf.col(CONTENT), ", ".join(f"{quoted(column.name)} string" for column in self.present))
        return unparsed_values(self.feed, columns, self._plain, texts)

    @property
    def ddl(self) -> str:
        """The columns as they are in the files."""
        return ", ".join(f"{quoted(column.name)} {type_}" for column, type_ in zip(self.present, self.own, strict=True))

    @property
    def _plain(self) -> list[Column]:
        """Without a time that is written in a way of its own."""
        written = None if self.feed.time.format is None else self.feed.time.column
        return [column for column in self.present if column.name != written]

    def _converted(self, column: Column) -> str:
        name, zone = quoted(column.name), self.feed.time_zone
        of_zone = times_of_zone(column, self.local, zone)
        if of_zone != name:
            return f"CAST({of_zone} AS {column.type})"
        value = converted(name, self._own(column), column, zone)
        assert value is not None, "a file of which no value fits is not read"
        return value

    def _written(self, column: Column) -> str:
        """A time that is written in a way of its own; one that is a time in the file is what it is."""
        own = self._own(column)
        if own == "timestamp" or (own == "date" and self.feed.time_zone != UTC_ZONE):
            return times_of_zone(replace(column, type="timestamp"), self.local, self.feed.time_zone)
        return self.written_time(quoted(column.name), own)

    def _own(self, column: Column) -> str:
        return next(own for present, own in zip(self.present, self.own, strict=True) if present.name == column.name)


def present_columns(
    feed: Feed, file: Arrival, columns: Sequence[Column], types: Mapping[str, str]
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Those of the columns that a file has, and what types it has for them."""
    present = tuple(column for column in columns if column.name in types)
    for column in present:
        is_written = column.name == feed.time.column and feed.time.format is not None
        if not is_written and converted("x", types[column.name], column, feed.time_zone) is None:
            reason = (
                f"Column '{column.name}' is of type {types[column.name]} in the file, and feed '{feed.name}' declares "
                f"{column.type}. Mend one of them, then {RETRY}."
            )
            raise UnreadableFilesError([(file, reason)])
    return present, tuple(types[column.name] for column in present)


def local_places(feed: Feed, schema: pa.Schema) -> frozenset[Path]:
    """Where files have times that say no zone, or dates, if the feed says of which zone these are."""
    if feed.time_zone == UTC_ZONE:
        return frozenset()
    return frozenset(place for field in schema for place in _local(field.type, (field.name.lower(),)))


def spark_types(file: Arrival, schema: pa.Schema) -> dict[str, str]:
    """The types of a file's columns in Spark's words. Times without a zone are UTC."""
    types, faults = {}, {}
    for field in schema:
        if fault := fault_of_structs(field.type):
            faults[field.name] = fault
            continue
        try:
            types[field.name] = "string" if pa.types.is_null(field.type) else _type(field.type)
        except PySparkException:
            faults[field.name] = unknown_to_spark(field.type)
    require_types(file, faults)
    return types


def require_types(file: Arrival, faults: Mapping[str, str]) -> None:
    """UnreadableFilesError where something is wrong with the types of columns: by their names, in words."""
    for column, fault in faults.items():
        raise UnreadableFilesError([(file, f"Column '{column}' {fault}. Mend the file, then {RETRY}.")])


def _local(kind: pa.DataType, path: Path) -> Iterator[Path]:
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        yield path
    for name, part in inner_types(kind):
        yield from _local(part, (*path, name.lower()))


def _type(arrow: pa.DataType) -> str:
    return type_text(from_arrow_type(arrow, prefer_timestamp_ntz=False))
