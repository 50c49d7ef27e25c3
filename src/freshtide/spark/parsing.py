"""Files as Spark reads them: which columns they have in which order, and how these become the feed's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from freshtide.core import halves
from freshtide.core.files import FeedFile
from freshtide.core.tables import Column, Feed, FileFormat
from freshtide.spark.contents import Contents
from freshtide.spark.schemas import literal, quoted
from freshtide.spark.timesinside import (
    Path,
    has_time_of_day,
    holds_instants,
    times_of_numbers,
    type_of_numbers,
    type_of_texts,
)
from freshtide.spark.verdicts import CONTENT, UNNAMED

TIME_TEXT = "_time_text"
_SPARK_DEFAULTS = {
    "encoding": "utf-8",
    "header": "false",
    "sep": ",",
    "quote": '"',
    "escape": "\\",
    "nullValue": "",
    "multiLine": "false",
}
_NULL_TEXT = "CAST(NULL AS STRING)"
_LAST = "_freshtide_last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What files have in common that one scan can read."""

    present: tuple[Column, ...]
    """The columns that the files have, in their order; only CSV cares about that."""
    unnamed: tuple[str, ...] = ()
    """Those of them without a name of their own: a delimiter at the end of a header makes one."""
    by_line: bool = False
    """Whether JSON is to be parsed line by line."""
    nanoseconds: frozenset[Path] = frozenset()
    """Where times are that Spark reads as numbers."""
    times_of_day: bool = False
    """Whether CSV may have times of day for instants: then these are text until they are converted."""


def layout_of(feed: Feed, file: FeedFile, columns: tuple[Column, ...], contents: Contents) -> Layout:
    instants = any(_is_parsed_as_instants(feed, column) for column in columns)
    match feed.format:
        case FileFormat.JSON:
            by_line = contents.holds_odd_lines(feed, file) or (instants and contents.holds_times_of_day(feed, file))
            return Layout(present=columns, by_line=by_line)
        case FileFormat.PARQUET:
            return Layout(present=columns, nanoseconds=contents.nanoseconds(file))
    times_of_day = instants and contents.holds_times_of_day(feed, file)
    if not feed.header or file.columns is None:
        return Layout(present=feed.schema, times_of_day=times_of_day)
    by_name = {column.name: column for column in columns}
    present = tuple(
        by_name.get(name, Column(name=name if name.strip() else f"{UNNAMED}_{place}", type="string"))
        for place, name in enumerate(file.columns)
    )
    unnamed = tuple(column.name for column, name in zip(present, file.columns, strict=True) if not name.strip())
    return Layout(present=present, unnamed=unnamed, times_of_day=times_of_day)


def parsed_values(feed: Feed, columns: Sequence[Column], layout: Layout, *, unnamed: bool) -> list[str]:
    """The feed's columns out of what was read, and beside them what is needed to judge a row.

    `unnamed` says that some files of the batch have values without a column.
    """
    there = {column.name for column in layout.present}
    values = [
        _converted(feed, column, layout)
        if column.name in there
        else f"CAST(NULL AS {column.type}) AS {quoted(column.name)}"
        for column in columns
    ]
    values.append(_content(feed, layout))
    if feed.time_format is not None:
        time = f"CAST({quoted(feed.time_column)} AS STRING)" if feed.time_column in there else _NULL_TEXT
        values.append(f"{time} AS {TIME_TEXT}")
    if unnamed:
        parts = ", ".join(map(quoted, layout.unnamed))
        values.append(f"{f'coalesce({parts})' if parts else _NULL_TEXT} AS {UNNAMED}")
    return values


def _content(feed: Feed, layout: Layout) -> str:
    """The line of a row that could not be parsed."""
    if feed.format is FileFormat.PARQUET:
        return f"{_NULL_TEXT} AS {CONTENT}"
    if not layout.times_of_day:
        return CONTENT
    texts = [column for column in layout.present if _is_parsed_as_instants(feed, column)]
    failed = (f"({quoted(column.name)} IS NOT NULL AND {_instant_of_text(column)} IS NULL)" for column in texts)
    fields = (f"CAST({quoted(column.name)} AS STRING) AS {quoted(column.name)}" for column in layout.present)
    as_it_was = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
    options = ", ".join(literal(word) for pair in (csv_options(feed) | as_it_was).items() for word in pair)
    line = f"to_csv(struct({', '.join(fields)}), map({options}))"
    return f"coalesce({CONTENT}, CASE WHEN {' OR '.join(failed) or 'false'} THEN {line} END) AS {CONTENT}"


def read_files(session: SparkSession, feed: Feed, layout: Layout, files: Sequence[FeedFile]) -> DataFrame:
    """The columns that the files have, as they are in them."""
    paths = [_escaped(file.path) for file in files]
    if layout.by_line:
        return _by_line(session, feed, layout, paths)
    reader = session.read.format(feed.format.value).schema(ddl_of(feed, layout))
    if feed.format is not FileFormat.PARQUET:
        wanted = {"encoding": feed.encoding}
        if feed.format is FileFormat.CSV:
            wanted |= {"header": str(feed.header).lower(), "multiLine": str(feed.multiline).lower()}
        for name, value in {**parsing_options(feed), **_unlike_spark(wanted)}.items():
            reader = reader.option(name, value)
    return reader.load(paths)


def _by_line(session: SparkSession, feed: Feed, layout: Layout, paths: list[str]) -> DataFrame:
    """JSON with one record a line, whatever it is: what is not one object is corrupt."""
    lines = session.read.text(paths).where(r"value RLIKE '[^ \t\r\n]'")
    text = r"regexp_replace(value, '^\\x{FEFF}|,[ \t\r]*$', '')"
    # Between the line and the bracket that is to close it comes what no line has: it is there, second, or the line
    # holds something else than one object.
    together = f"from_json(concat('[', {text}, ',{{\"{_LAST}\":1}}]'), 'array<map<string,string>>')"
    alone = f"(map_contains_key(get({together}, 1), '{_LAST}') AND NOT {half_a_character('value')})"
    options = ", ".join(literal(word) for pair in parsing_options(feed).items() for word in pair)
    record = f"from_json({text}, {literal(ddl_of(feed, layout))}, map({options})) AS record"
    texts = {column.name: column for column in layout.present if _is_parsed_as_instants(feed, column)}
    as_texts = ", ".join(f"{quoted(name)} {type_of_texts(column)}" for name, column in texts.items())
    written = f"from_json({text}, {literal(as_texts)})" if texts else _NULL_TEXT
    parsed = lines.selectExpr(
        "value", f"coalesce({alone}, false) AS alone", record, f"{written} AS written", "_metadata"
    )
    of_today = {name: has_time_of_day(f"written.{quoted(name)}", column) for name, column in texts.items()}
    fields = (
        f"CASE WHEN NOT {of_today.get(column.name, 'false')} THEN record.{quoted(column.name)} END "
        f"AS {quoted(column.name)}"
        for column in layout.present
    )
    whole = " AND ".join(["alone", *(f"NOT {found}" for found in of_today.values())])
    content = f"CASE WHEN {whole} THEN record.{CONTENT} ELSE value END AS {CONTENT}"
    return parsed.selectExpr(*fields, content, "_metadata")


def half_a_character(text: str) -> str:
    """Whether a line of JSON has half a character, written as an escape."""
    plain = f"replace({text}, {literal(halves.ESCAPED_BACKSLASH)}, '')"
    return f"regexp_replace({plain}, {literal(halves.PAIR)}, '') RLIKE {literal(halves.HALF)}"


def ddl_of(feed: Feed, layout: Layout) -> str:
    fields = [f"{quoted(column.name)} {_raw_type(feed, column, layout)}" for column in layout.present]
    return ", ".join(fields if feed.format is FileFormat.PARQUET else [*fields, f"{CONTENT} string"])


def csv_options(feed: Feed) -> dict[str, str]:
    """How a line of CSV becomes fields."""
    return {"sep": feed.delimiter, "quote": feed.quote, "escape": feed.escape, "nullValue": feed.null_value}


def parsing_options(feed: Feed) -> dict[str, str]:
    """How a line becomes a record."""
    wanted = {"columnNameOfCorruptRecord": CONTENT}
    return _unlike_spark(wanted | csv_options(feed) if feed.format is FileFormat.CSV else wanted)


def _unlike_spark(wanted: dict[str, str]) -> dict[str, str]:
    """Each option is a call to the JVM: leave out what is Spark's default anyway."""
    return {name: value for name, value in wanted.items() if _SPARK_DEFAULTS.get(name) != value.lower()}


def _raw_type(feed: Feed, column: Column, layout: Layout) -> str:
    """The type to parse as: a time in a format of its own is text until it is converted."""
    if layout.nanoseconds:
        return type_of_numbers(column, layout.nanoseconds)
    if layout.times_of_day and _is_parsed_as_instants(feed, column):
        return "string"
    if column.name == feed.time_column and feed.time_format is not None and feed.format is not FileFormat.PARQUET:
        return "string"
    return column.type


def _converted(feed: Feed, column: Column, layout: Layout) -> str:
    name = quoted(column.name)
    value = times_of_numbers(column, layout.nanoseconds) if layout.nanoseconds else name
    if layout.times_of_day and _is_parsed_as_instants(feed, column):
        value = _instant_of_text(column)
    if value != name:
        return f"{value} AS {name}"
    if column.name != feed.time_column or feed.time_format is None:
        return name
    if feed.time_format in {"epoch_seconds", "epoch_millis"}:
        scale = 1_000_000 if feed.time_format == "epoch_seconds" else 1_000
        return f"timestamp_micros(try_cast(round(try_cast({name} AS DECIMAL(30,9)) * {scale}) AS BIGINT)) AS {name}"
    return f"try_to_timestamp({name}, {literal(feed.time_format)}) AS {name}"


def _is_parsed_as_instants(feed: Feed, column: Column) -> bool:
    """Whether it is Spark that makes instants of the column's texts."""
    return holds_instants(column.type) and (column.name != feed.time_column or feed.time_format is None)


def _instant_of_text(column: Column) -> str:
    """What Spark makes of a text, except for times of day."""
    text = quoted(column.name)
    return f"CASE WHEN NOT {has_time_of_day(text, column)} THEN try_cast({text} AS {column.type}) END"


def _escaped(path: str) -> str:
    """Spark takes paths as globs: a file called `a[1].csv` is itself, not a pattern."""
    return "".join(f"\\{character}" if character in "*?[]{}\\" else character for character in path)
