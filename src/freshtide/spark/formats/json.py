"""JSON: a line is an object, in which any column may be missing. Odd files are parsed line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from freshtide.core import halves
from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column, Feed
from freshtide.feeds.formats.json import JsonFormat, holds_odd_lines, holds_times_of_day
from freshtide.spark.formats.format import NO_TEXT, Layout, paths_of
from freshtide.spark.parsedtexts import (
    columns_with_content,
    is_parsed_as_instants,
    parsing_options,
    raw_type,
    unparsed_values,
)
from freshtide.spark.schemas import literal, quoted
from freshtide.spark.timesinside import has_time_of_day, type_of_texts
from freshtide.spark.verdicts import CONTENT, UNNAMED

_LAST = "_freshtide_last"


class JsonReading:
    options = JsonFormat
    is_parsed = True

    def layout(self, feed: Feed, file: Arrival, columns: tuple[Column, ...]) -> Layout:
        instants = any(is_parsed_as_instants(feed, column) for column in columns)
        nameless = tuple(name for name in file.columns or () if not name.strip())
        by_line = bool(nameless) or holds_odd_lines(feed, file) or (instants and holds_times_of_day(feed, file))
        return JsonLayout(feed=feed, present=columns, by_line=by_line, nameless=nameless)

    def column_types(self, _session: SparkSession, _file: Arrival) -> Mapping[str, str]:
        return {}

    def write_known_good(self, path: Path) -> None:
        path.write_text('{"n": 1}\n')

    def read_known_good(self, session: SparkSession, path: Path) -> DataFrame:
        return session.read.json(str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLayout(Layout):
    by_line: bool = False
    """Whether Spark's reader would make no row of a line, several, or one without saying what it left out, or times of
    today of times of day: then each line is parsed by itself."""
    nameless: tuple[str, ...] = ()
    """Keys that make no column."""

    @property
    def unnamed(self) -> tuple[str, ...]:
        return (f"{UNNAMED}_0",) if self.nameless else ()

    @property
    def has_more(self) -> bool:
        # Where files are read line by line, the place of a row is a column like the others.
        return self.by_line

    def frame(self, session: SparkSession, files: Sequence[Arrival]) -> DataFrame:
        if self.by_line:
            return self._line_by_line(session, paths_of(files))
        reader = session.read.schema(self._ddl).options(
            **parsing_options(self.feed, {"encoding": self.feed.format.encoding})
        )
        return reader.json(paths_of(files))

    @property
    def content(self) -> str:
        return CONTENT

    def complaints(self, columns: Sequence[Column]) -> list[SparkColumn]:
        content = sf.col(CONTENT)
        texts = sf.from_json(content, ", ".join(f"{quoted(column.name)} string" for column in self.present))
        return [
            sf.when(sf.expr(_half_a_character(CONTENT)), sf.lit("it has half of a character")),
            sf.when(content.isNotNull() & sf.try_parse_json(content).isNull(), sf.lit("it is not valid JSON")),
            sf.when(content.rlike(r"^\s*\["), sf.lit("it is an array, and a line is one object")),
            sf.when(~content.rlike(r"^\s*\{"), sf.lit("it is not an object with a value for each column")),
            *unparsed_values(self.feed, columns, self.present, texts),
            sf.when(content.isNotNull(), sf.lit("it is more than one object")),
        ]

    @property
    def _ddl(self) -> str:
        return columns_with_content([f"{quoted(column.name)} {raw_type(self.feed, column)}" for column in self.present])

    def _line_by_line(self, session: SparkSession, paths: list[str]) -> DataFrame:
        """One record a line, whatever it is: what is not one object is corrupt."""
        lines = session.read.text(paths).where(r"value RLIKE '[^ \t\r\n]'")
        text = r"regexp_replace(value, '^\\x{FEFF}|,[ \t\r]*$', '')"
        # Between the line and the bracket that is to close it comes what no line has: it is there, second, or the line
        # holds something else than one object.
        together = f"from_json(concat('[', {text}, ',{{\"{_LAST}\":1}}]'), 'array<map<string,string>>')"
        alone = f"(map_contains_key(get({together}, 1), '{_LAST}') AND NOT {_half_a_character('value')})"
        options = ", ".join(literal(word) for pair in parsing_options(self.feed, {}).items() for word in pair)
        record = f"from_json({text}, {literal(self._ddl)}, map({options})) AS record"
        texts = {column.name: column for column in self.present if is_parsed_as_instants(self.feed, column)}
        as_texts = ", ".join(f"{quoted(name)} {type_of_texts(column)}" for name, column in texts.items())
        written = f"from_json({text}, {literal(as_texts)})" if texts else NO_TEXT
        parsed = lines.selectExpr(
            "value", f"coalesce({alone}, false) AS alone", record, f"{written} AS written", "_metadata"
        )
        of_today = {name: has_time_of_day(f"written.{quoted(name)}", column) for name, column in texts.items()}
        fields = (
            f"CASE WHEN NOT {of_today.get(column.name, 'false')} THEN record.{quoted(column.name)} END "
            f"AS {quoted(column.name)}"
            for column in self.present
        )
        whole = " AND ".join(["alone", *(f"NOT {found}" for found in of_today.values())])
        content = f"CASE WHEN {whole} THEN record.{CONTENT} ELSE value END AS {CONTENT}"
        return parsed.selectExpr(*fields, content, *self._unnamed_values, "_metadata")

    @property
    def _unnamed_values(self) -> list[str]:
        values = (f"try_element_at(from_json(value, 'map<string,string>'), {literal(key)})" for key in self.nameless)
        return [f"coalesce({', '.join(values)}) AS {name}" for name in self.unnamed]


def _half_a_character(text: str) -> str:
    """Whether a line of JSON has half a character, written as an escape."""
    plain = f"replace({text}, {literal(halves.ESCAPED_BACKSLASH)}, '')"
    return f"regexp_replace({plain}, {literal(halves.PAIR)}, '') RLIKE {literal(halves.HALF)}"
