"""CSV: the columns of a file are those of its header, in its order; every value is text that Spark parses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column, Feed
from freshtide.feeds.formats.csv import CsvFormat, holds_times_of_day, record_lines
from freshtide.spark.formats.format import Layout, paths_of
from freshtide.spark.parsedtexts import (
    columns_with_content,
    instant_of_text,
    is_parsed_as_instants,
    parsed_lines,
    parsing_options,
    raw_type,
    unparsed_values,
)
from freshtide.spark.schemas import literal, quoted
from freshtide.spark.verdicts import CONTENT, UNNAMED


class CsvReading:
    options = CsvFormat
    is_parsed = True

    def layout(self, feed: Feed, file: Arrival, columns: tuple[Column, ...]) -> Layout:
        instants = any(is_parsed_as_instants(feed, column) for column in columns)
        times_of_day = instants and holds_times_of_day(feed, file)
        if not CsvFormat.of(feed).header or file.columns is None:
            return CsvLayout(feed=feed, present=feed.schema, times_of_day=times_of_day)
        by_name = {column.name: column for column in columns}
        present = tuple(
            by_name.get(name, Column(name=name if name.strip() else f"{UNNAMED}_{place}", type="string"))
            for place, name in enumerate(file.columns)
        )
        nameless = tuple(column.name for column, name in zip(present, file.columns, strict=True) if not name.strip())
        return CsvLayout(feed=feed, present=present, nameless=nameless, times_of_day=times_of_day)

    def column_types(self, _session: SparkSession, _file: Arrival) -> Mapping[str, str]:
        return {}

    def write_known_good(self, path: Path) -> None:
        path.write_text("1\n")

    def read_known_good(self, session: SparkSession, path: Path) -> DataFrame:
        return session.read.csv(str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLayout(Layout):
    """Files with the same columns in the same order."""

    nameless: tuple[str, ...] = ()
    """Columns without a name of their own: a delimiter at the end of a header makes one."""
    times_of_day: bool = False
    """Whether there may be times of day for instants: then these are text until they are converted."""

    @property
    def unnamed(self) -> tuple[str, ...]:
        return self.nameless

    def frame(self, session: SparkSession, files: Sequence[Arrival]) -> DataFrame:
        csv = CsvFormat.of(self.feed)
        of_files = {
            "encoding": csv.encoding,
            "header": str(csv.header).lower(),
            "multiLine": str(csv.multiline).lower(),
        }
        reader = session.read.schema(self._ddl).options(**parsing_options(self.feed, _of_lines(csv) | of_files))
        return reader.csv(paths_of(files))

    def handed_over(self, session: SparkSession, files: Sequence[Arrival]) -> tuple[DataFrame, int] | None:
        together: list[bytes] = []
        for file in files:
            lines = record_lines(self.feed, file)
            if lines is None:
                return None
            together += lines
        options = parsing_options(self.feed, _of_lines(CsvFormat.of(self.feed)))
        return parsed_lines(session, together, self._ddl, options), len(together)

    def value(self, column: Column) -> str:
        if self._is_text(column):
            return f"{self._instant(column)} AS {quoted(column.name)}"
        return Layout.value(self, column)

    @property
    def content(self) -> str:
        if not self.times_of_day:
            return CONTENT
        texts = [column for column in self.present if is_parsed_as_instants(self.feed, column)]
        failed = (f"({quoted(column.name)} IS NOT NULL AND {self._instant(column)} IS NULL)" for column in texts)
        fields = (f"CAST({quoted(column.name)} AS STRING) AS {quoted(column.name)}" for column in self.present)
        as_it_was = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
        options = _of_lines(CsvFormat.of(self.feed)) | as_it_was
        listed = ", ".join(literal(word) for pair in options.items() for word in pair)
        line = f"to_csv(struct({', '.join(fields)}), map({listed}))"
        return f"coalesce({CONTENT}, CASE WHEN {' OR '.join(failed) or 'false'} THEN {line} END) AS {CONTENT}"

    def complaints(self, columns: Sequence[Column]) -> list[SparkColumn]:
        csv, content = CsvFormat.of(self.feed), sf.col(CONTENT)
        fields = ", ".join(f"{quoted(column.name)} string" for column in self.present)
        texts = sf.from_csv(content, fields, _of_lines(csv))
        declares = "file" if csv.header else "feed"
        whole = f"it does not have the {len(self.present)} columns that the {declares} declares"
        return [
            *unparsed_values(self.feed, columns, self.present, texts),
            sf.when(content.isNotNull(), sf.lit(whole)),
        ]

    @property
    def _ddl(self) -> str:
        return columns_with_content(
            [
                f"{quoted(column.name)} {'string' if self._is_text(column) else raw_type(self.feed, column)}"
                for column in self.present
            ]
        )

    def _is_text(self, column: Column) -> bool:
        return self.times_of_day and is_parsed_as_instants(self.feed, column)

    def _instant(self, column: Column) -> str:
        return instant_of_text(quoted(column.name), column, self.feed.time_zone)


def _of_lines(csv: CsvFormat) -> dict[str, str]:
    """How a line becomes fields."""
    return {"sep": csv.delimiter, "quote": csv.quote, "escape": csv.escape, "nullValue": csv.null_value}
