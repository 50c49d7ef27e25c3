"""How Spark reads the files of a format: which columns they have, and how these become the columns of a feed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import UTC_ZONE, Column, Feed, Format
from freshtide.spark.localtimes import instant_in
from freshtide.spark.reading import empty_frame
from freshtide.spark.schemas import feed_schema, literal, quoted

NO_TEXT = "CAST(NULL AS STRING)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(ABC):
    """What files have in common that one scan can read."""

    feed: Feed
    present: tuple[Column, ...]
    """The columns that the files have, in their order."""

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Those of them without a name of their own."""
        return ()

    @property
    def has_more(self) -> bool:
        """Whether a frame of the files has more columns than they have, and `_content`."""
        return False

    @property
    def place(self) -> tuple[str, str]:
        """In which file a row is, as a URI, and where in it Spark began to read."""
        return "_metadata.file_path", "_metadata.file_block_start"

    @abstractmethod
    def frame(self, session: SparkSession, files: Sequence[Arrival]) -> DataFrame:
        """The columns that the files have, as they are in them."""

    def handed_over(self, _session: SparkSession, _files: Sequence[Arrival]) -> tuple[DataFrame, int] | None:
        """The same out of rows that Spark is handed, and how many these are; None where it had better read files."""
        return None

    def value(self, column: Column) -> str:
        """A column of the feed, out of one that the files have."""
        name = quoted(column.name)
        is_written = column.name == self.feed.time.column and self.feed.time.format is not None
        return f"{self.written_time(name, 'string')} AS {name}" if is_written else name

    def written_time(self, value: str, kind: str) -> str:
        """The time of a row from how the feed writes it, out of a value of a type; null where it is not written so."""
        time, zone = self.feed.time, self.feed.time_zone
        if time.format in {"epoch_seconds", "epoch_millis"}:
            scale = 1_000_000 if time.format == "epoch_seconds" else 1_000
            return f"timestamp_micros(try_cast(round(try_cast({value} AS DECIMAL(30,9)) * {scale}) AS BIGINT))"
        if zone != UTC_ZONE and kind == "string":
            return instant_in(zone, value, pattern=time.format)
        return f"try_to_timestamp({value}, {literal(time.format or '')})"

    @property
    @abstractmethod
    def content(self) -> str:
        """The text of a row that could not be parsed."""

    def complaints(self, _columns: Sequence[Column]) -> list[SparkColumn]:
        """What may be wrong with a row that could not be parsed, in words; null where it is not."""
        return []


class NoFiles(Layout):
    """What no file at all has in common: the columns that the feed has."""

    def frame(self, session: SparkSession, _files: Sequence[Arrival]) -> DataFrame:
        return empty_frame(session, feed_schema(self.feed, self.present[len(self.feed.columns) :]))

    @property
    def content(self) -> str:
        return NO_TEXT


class SparkFormat(Protocol):
    """A format as Spark knows it."""

    @property
    def options(self) -> type[Format]:
        """The class of the feed's options, as in `feeds.formats`."""
        ...

    @property
    def is_parsed(self) -> bool:
        """Whether rows are text, which Spark makes values of: `_content` is where it could not."""
        ...

    def layout(self, feed: Feed, file: Arrival, columns: tuple[Column, ...]) -> Layout:
        """How a file is read that is to have these columns."""
        ...

    def column_types(self, session: SparkSession, file: Arrival) -> Mapping[str, str]:
        """What types a file says that its columns have in a table; those that it does not know are texts."""
        ...

    def write_known_good(self, path: Path) -> None:
        """Write a file with one row, which cannot but be readable."""
        ...

    def read_known_good(self, session: SparkSession, path: Path) -> DataFrame: ...


def paths_of(files: Sequence[Arrival]) -> list[str]:
    """Spark takes paths as globs: a file called `a[1].csv` is itself, not a pattern."""
    return [
        "".join(f"\\{character}" if character in "*?[]{}\\" else character for character in file.position)
        for file in files
    ]
