"""Feed files as DataFrames: parsed by the declared schema, with a verdict on every row.

A row is good, rejected (it does not fit the schema) or late (it is stamped in a time that was promised to be complete).
Beside the feed's columns the parsed rows have `_content`, the line as it stands in the file for rows that could not be
parsed, and, where it is asked for, `_file`. Expressions are SQL text: one call to the JVM instead of dozens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.files import FeedFile
from freshtide.core.loads import LoadItem
from freshtide.core.tables import Column, Feed, FileFormat
from freshtide.spark.handing import RecordLines, parsed_lines
from freshtide.spark.queries import Narrowed
from freshtide.spark.reading import empty_frame
from freshtide.spark.rejects import CONTENT, reason
from freshtide.spark.scans import SharedScans
from freshtide.spark.schemas import feed_schema, literal, quoted

_FILE, _BLOCK, _VERDICT, _LATE_UPTO = "_file", "_block", "_verdict", "_late_upto"
FILE, BLOCK = "_file_path", _BLOCK
_MAP_LIMIT = 64
_NEVER = "false"
_SPARK_DEFAULTS = {
    "encoding": "utf-8",
    "header": "false",
    "sep": ",",
    "quote": '"',
    "escape": "\\",
    "nullValue": "",
    "multiLine": "false",
}


class Verdict(IntEnum):
    GOOD = 0
    REJECTED = 1
    LATE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The parsed rows of some files, and the conditions under which a row is rejected or late."""

    feed: Feed
    columns: tuple[Column, ...]
    parsed: Narrowed
    unfit: str
    late: str

    def good(self) -> Narrowed:
        return self._rows(f"NOT ({self.unfit}) AND NOT ({self.late})")

    def good_by_file(self) -> DataFrame:
        """The good rows, each with the path of its file and where in it Spark began to read.

        A large file is read in pieces, and these do not come in order. The batch must have been read with files.
        """
        columns = (quoted(column.name) for column in self.columns)
        rows = self.parsed.as_frame().where(f"NOT ({self.unfit})")
        return rows.selectExpr(*columns, f"{_PLAIN_PATH} AS {FILE}", BLOCK)

    def late_rows(self) -> Narrowed:
        return self._rows(f"NOT ({self.unfit}) AND ({self.late})")

    def rejected(self) -> DataFrame:
        """File, content and reason of the rows that do not fit. The batch must have been read with files."""
        as_read = sf.to_json(sf.struct(*(quoted(column.name) for column in self.columns)))
        return (
            self.parsed.as_frame()
            .where(self.unfit)
            .select(
                sf.expr(_PLAIN_PATH).alias("file"),
                sf.coalesce(sf.col(CONTENT), as_read).alias("content"),
                reason(self.feed, self.columns).alias("reason"),
            )
        )

    def tally(self) -> dict[Verdict, int]:
        """How many rows got which verdict."""
        verdict = (
            f"CASE WHEN {self.unfit} THEN {int(Verdict.REJECTED)} "
            f"WHEN {self.late} THEN {int(Verdict.LATE)} ELSE {int(Verdict.GOOD)} END AS {_VERDICT}"
        )
        counted = self.parsed.as_frame().selectExpr(verdict).groupBy(_VERDICT).count().collect()
        return {Verdict(row[_VERDICT]): row["count"] for row in counted}

    def _rows(self, condition: str) -> Narrowed:
        return replace(self.parsed, columns=tuple(quoted(column.name) for column in self.columns), condition=condition)


# The metadata column spells a path as a URI; users know it as a path.
_PLAIN_PATH = f"regexp_replace(url_decode(replace({_FILE}, '+', '%2B')), '^file:(//)?', '')"


def read_batch(
    session: SparkSession,
    feed: Feed,
    extra: tuple[Column, ...],
    items: Sequence[LoadItem],
    *,
    judge_late: bool = True,
    with_files: bool = True,
    scans: SharedScans | None = None,
    record_lines: RecordLines | None = None,
) -> Batch:
    """Parse the files of a load together: what waits together is read together.

    Without `judge_late` no row is late, and without `with_files` the rows do not know their files; both make the
    batch cheaper to read. With `scans` the files are read once for all tables of an update. With `record_lines` Spark
    is handed the lines of the files, where it need not know whose they are.
    """
    columns = (*feed.schema, *extra)
    limits = {item.file.path: item.late_upto for item in items if item.late_upto is not None and judge_late}
    several = len({item.late_upto for item in items}) > 1
    named = with_files or (bool(limits) and several)
    groups: dict[tuple[str, ...] | None, list[FeedFile]] = defaultdict(list)
    for item in items:
        groups[_layout(feed, item)].append(item.file)
    parts = [
        _named(session, feed, columns, layout=layout, files=files, scans=scans)
        if named
        else _nameless(session, feed, columns, layout=layout, files=files, record_lines=record_lines)
        for layout, files in groups.items()
    ]
    if len(parts) == 1:
        (parsed,) = parts
    elif parts:
        parsed = Narrowed(frame=reduce(DataFrame.unionByName, [part.as_frame() for part in parts]))
    else:
        marks = (f"CAST(NULL AS STRING) AS {name}" for name in (CONTENT, _FILE))
        parsed = Narrowed(frame=empty_frame(session, feed_schema(feed, extra)), values=("*", *marks))
    late = _NEVER
    if limits:
        parsed, late_upto = _late_limits(session, parsed, limits, several)
        late = f"coalesce(unix_micros({quoted(feed.time_column)}) <= {late_upto}, false)"
    return Batch(feed=feed, columns=columns, parsed=parsed, unfit=_unfit(feed, columns), late=late)


def _layout(feed: Feed, item: LoadItem) -> tuple[str, ...] | None:
    """Files with the same columns in the same order can be read by one scan; only CSV cares about order."""
    return item.file.columns if feed.format is FileFormat.CSV and feed.header else None


def _named(
    session: SparkSession,
    feed: Feed,
    columns: tuple[Column, ...],
    *,
    layout: tuple[str, ...] | None,
    files: Sequence[FeedFile],
    scans: SharedScans | None,
) -> Narrowed:
    present = _present(feed, columns, layout)
    # The hidden column is there for the frame itself only, not through a view of it.
    place = (f"_metadata.file_path AS {_FILE}", f"_metadata.file_block_start AS {_BLOCK}")
    selected = _read(session, feed, present, files).selectExpr(*_values(feed, columns, present), *place)
    if scans is not None:
        selected = scans.kept((feed.name, layout, columns, *(file.path for file in files)), lambda: selected)
    return Narrowed(frame=selected)


def _nameless(
    session: SparkSession,
    feed: Feed,
    columns: tuple[Column, ...],
    *,
    layout: tuple[str, ...] | None,
    files: Sequence[FeedFile],
    record_lines: RecordLines | None,
) -> Narrowed:
    present = _present(feed, columns, layout)
    lines = None if record_lines is None else _lines_of(feed, files, record_lines)
    if lines is None:
        raw = _read(session, feed, present, files)
    else:
        raw = parsed_lines(session, lines, _ddl(feed, present), _parsing(feed))
    values = _values(feed, columns, present)
    as_read = [*(quoted(column.name) for column in present), CONTENT]
    return Narrowed(frame=raw) if values == as_read else Narrowed(frame=raw, values=tuple(values))


def _lines_of(feed: Feed, files: Sequence[FeedFile], record_lines: RecordLines) -> list[bytes] | None:
    together: list[bytes] = []
    for file in files:
        lines = record_lines(feed, file)
        if lines is None:
            return None
        together += lines
    return together


def _present(feed: Feed, columns: tuple[Column, ...], layout: tuple[str, ...] | None) -> list[Column]:
    """The columns that the files have."""
    if layout is not None:
        by_name = {column.name: column for column in columns}
        return [by_name.get(name, Column(name=name, type="string")) for name in layout]
    return list(feed.schema if feed.format is FileFormat.CSV else columns)


def _values(feed: Feed, columns: tuple[Column, ...], present: Sequence[Column]) -> list[str]:
    there = {column.name for column in present}
    values = [
        _converted(feed, column) if column.name in there else f"CAST(NULL AS {column.type}) AS {quoted(column.name)}"
        for column in columns
    ]
    return [*values, f"CAST(NULL AS STRING) AS {CONTENT}" if feed.format is FileFormat.PARQUET else CONTENT]


def _read(session: SparkSession, feed: Feed, present: Sequence[Column], files: Sequence[FeedFile]) -> DataFrame:
    reader = session.read.format(feed.format.value).schema(_ddl(feed, present))
    if feed.format is not FileFormat.PARQUET:
        wanted = {"encoding": feed.encoding}
        if feed.format is FileFormat.CSV:
            wanted |= {"header": str(feed.header).lower(), "multiLine": str(feed.multiline).lower()}
        for name, value in {**_parsing(feed), **_unlike_spark(wanted)}.items():
            reader = reader.option(name, value)
    return reader.load([_escaped(file.path) for file in files])


def _ddl(feed: Feed, present: Sequence[Column]) -> str:
    fields = [f"{quoted(column.name)} {_raw_type(feed, column)}" for column in present]
    return ", ".join(fields if feed.format is FileFormat.PARQUET else [*fields, f"{CONTENT} string"])


def _parsing(feed: Feed) -> dict[str, str]:
    """How a line becomes a record."""
    wanted = {"columnNameOfCorruptRecord": CONTENT}
    if feed.format is FileFormat.CSV:
        wanted |= {"sep": feed.delimiter, "quote": feed.quote, "escape": feed.escape, "nullValue": feed.null_value}
    return _unlike_spark(wanted)


def _unlike_spark(wanted: dict[str, str]) -> dict[str, str]:
    """Each option is a call to the JVM: leave out what is Spark's default anyway."""
    return {name: value for name, value in wanted.items() if _SPARK_DEFAULTS.get(name) != value.lower()}


def _raw_type(feed: Feed, column: Column) -> str:
    """The type to parse as: a time in a format of its own is text until it is converted."""
    if column.name == feed.time_column and feed.time_format is not None and feed.format is not FileFormat.PARQUET:
        return "string"
    return column.type


def _converted(feed: Feed, column: Column) -> str:
    name = quoted(column.name)
    if column.name != feed.time_column or feed.time_format is None:
        return name
    if feed.time_format in {"epoch_seconds", "epoch_millis"}:
        scale = 1_000_000 if feed.time_format == "epoch_seconds" else 1_000
        return f"timestamp_micros(CAST(round(try_cast({name} AS DECIMAL(30,9)) * {scale}) AS BIGINT)) AS {name}"
    pattern = feed.time_format.replace("\\", "\\\\").replace("'", "\\'")
    return f"try_to_timestamp({name}, '{pattern}') AS {name}"


def _unfit(feed: Feed, columns: tuple[Column, ...]) -> str:
    """The condition under which a row does not fit; it is true or false, never null."""
    required = [column.name for column in columns if not column.nullable or column.name == feed.time_column]
    conditions = [f"{CONTENT} IS NOT NULL", *(f"{quoted(name)} IS NULL" for name in required)]
    # Spark parses only the columns that a plan refers to, and finds only their errors: refer to them all.
    nothing = " AND ".join(f"{quoted(column.name)} IS NULL" for column in columns)
    return " OR ".join([*conditions, f"({nothing})"])


def _late_limits(
    session: SparkSession, parsed: Narrowed, limits: dict[str, int], several: bool
) -> tuple[Narrowed, str]:
    """The rows and an expression for up to where the rows of each row's file are late.

    A map for few files; a join for many, since looking a file up in a map takes longer the more there are.
    """
    if not several:
        return parsed, f"{next(iter(limits.values()))}L"
    by_uri = {_file_uri(session, path): upto for path, upto in limits.items()}
    if len(by_uri) <= _MAP_LIMIT:
        pairs = ", ".join(f"{literal(uri)}, {upto}L" for uri, upto in by_uri.items())
        return parsed, f"try_element_at(map({pairs}), {_FILE})"
    table = session.createDataFrame(list(by_uri.items()), f"{_FILE} string, {_LATE_UPTO} bigint")
    return Narrowed(frame=parsed.as_frame().join(sf.broadcast(table), _FILE, "left")), _LATE_UPTO


def _file_uri(session: SparkSession, path: str) -> str:
    """A path as Spark's metadata column spells it."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    return str(jvm.java.io.File(path).toURI().toString())


def _escaped(path: str) -> str:
    """Spark takes paths as globs: a file called `a[1].csv` is itself, not a pattern."""
    return "".join(f"\\{character}" if character in "*?[]{}\\" else character for character in path)
