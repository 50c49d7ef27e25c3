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

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.loads import LoadItem
from freshtide.core.tables import Column, Feed, FileFormat
from freshtide.spark.queries import Narrowed
from freshtide.spark.reading import empty_frame
from freshtide.spark.rejects import CONTENT, reason
from freshtide.spark.scans import SharedScans
from freshtide.spark.schemas import feed_schema, quoted

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
) -> Batch:
    """Parse the files of a load together: what waits together is read together.

    Without `judge_late` no row is late, and without `with_files` the rows do not know their files; both make the
    batch cheaper to read. With `scans` the files are read once for all tables of an update.
    """
    columns = (*feed.schema, *extra)
    limits = {item.file.path: item.late_upto for item in items if item.late_upto is not None and judge_late}
    several = len({item.late_upto for item in items}) > 1
    named = with_files or (bool(limits) and several)
    groups: dict[tuple[str, ...] | None, list[str]] = defaultdict(list)
    for item in items:
        groups[_layout(feed, item)].append(item.file.path)
    parts = [
        _parsed(session, feed, columns, layout=layout, paths=paths, named=named, scans=scans)
        for layout, paths in groups.items()
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


def _parsed(
    session: SparkSession,
    feed: Feed,
    columns: tuple[Column, ...],
    *,
    layout: tuple[str, ...] | None,
    paths: list[str],
    named: bool,
    scans: SharedScans | None,
) -> Narrowed:
    by_name = {column.name: column for column in columns}
    if layout is not None:
        present = [by_name.get(name, Column(name=name, type="string")) for name in layout]
    elif feed.format is FileFormat.CSV:
        present = list(feed.schema)
    else:
        present = list(columns)
    there = {column.name for column in present}
    values = [
        _converted(feed, column) if column.name in there else f"CAST(NULL AS {column.type}) AS {quoted(column.name)}"
        for column in columns
    ]
    values.append(f"CAST(NULL AS STRING) AS {CONTENT}" if feed.format is FileFormat.PARQUET else CONTENT)
    raw = _reader(session, feed, present).load([_escaped(path) for path in paths])
    if named:
        # The hidden column is there for the frame itself only, not through a view of it.
        place = (f"_metadata.file_path AS {_FILE}", f"_metadata.file_block_start AS {_BLOCK}")
        selected = raw.selectExpr(*values, *place)
        if scans is not None:
            selected = scans.kept((feed.name, layout, columns, *paths), lambda: selected)
        return Narrowed(frame=selected)
    as_read = [*(quoted(column.name) for column in present), CONTENT]
    return Narrowed(frame=raw) if values == as_read else Narrowed(frame=raw, values=tuple(values))


def _reader(session: SparkSession, feed: Feed, columns: list[Column]) -> DataFrameReader:
    fields = [f"{quoted(column.name)} {_raw_type(feed, column)}" for column in columns]
    if feed.format is FileFormat.PARQUET:
        return session.read.format("parquet").schema(", ".join(fields))
    reader = session.read.format(feed.format.value).schema(", ".join([*fields, f"{CONTENT} string"]))
    wanted = {"columnNameOfCorruptRecord": CONTENT, "encoding": feed.encoding}
    if feed.format is FileFormat.CSV:
        wanted |= {
            "header": str(feed.header).lower(),
            "sep": feed.delimiter,
            "quote": feed.quote,
            "escape": feed.escape,
            "nullValue": feed.null_value,
            "multiLine": str(feed.multiline).lower(),
        }
    # Each option is a call to the JVM: leave out what is Spark's default anyway.
    for name, value in wanted.items():
        if _SPARK_DEFAULTS.get(name) != value.lower():
            reader = reader.option(name, value)
    return reader


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
        pairs = ", ".join(f"{_literal(uri)}, {upto}L" for uri, upto in by_uri.items())
        return parsed, f"try_element_at(map({pairs}), {_FILE})"
    table = session.createDataFrame(list(by_uri.items()), f"{_FILE} string, {_LATE_UPTO} bigint")
    return Narrowed(frame=parsed.as_frame().join(sf.broadcast(table), _FILE, "left")), _LATE_UPTO


def _file_uri(session: SparkSession, path: str) -> str:
    """A path as Spark's metadata column spells it."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    return str(jvm.java.io.File(path).toURI().toString())


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _escaped(path: str) -> str:
    """Spark takes paths as globs: a file called `a[1].csv` is itself, not a pattern."""
    return "".join(f"\\{character}" if character in "*?[]{}\\" else character for character in path)
