"""Feed files as DataFrames: parsed by the declared schema, with a verdict on every row.

A row is good, rejected (it does not fit the schema) or late (it is stamped in a time that was promised to be complete).
Beside the feed's columns the parsed rows have `_content`, the line as it stands in the file for rows that could not be
parsed, and, where it is asked for, `_file`. Expressions are SQL text: one call to the JVM instead of dozens.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column, Feed
from freshtide.core.loads import LoadItem, latest_allowed
from freshtide.spark.computedtimes import with_computed_time
from freshtide.spark.formats import Layout, NoFiles, spark_format
from freshtide.spark.jvm import jvm_of
from freshtide.spark.parsing import TIME_TEXT, parsed_values
from freshtide.spark.queries import Narrowed
from freshtide.spark.rejects import content_of, reason
from freshtide.spark.scans import SharedScans
from freshtide.spark.schemas import literal, quoted
from freshtide.spark.verdicts import CONTENT, Judgement, Tally, Watch, unfit_conditions

_FILE, _BLOCK, _LAYOUT, _LATE_UPTO, _LATEST = "_file", "_block", "_layout", "_late_upto", "_latest"
FILE, BLOCK = "_file_path", _BLOCK
_MAP_LIMIT = 64
_NEVER = "false"
Unchanged = Callable[[], None]
"""Raises where files are not what they were any more."""
WatchFiles = Callable[[Sequence[Arrival]], Unchanged]
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The parsed rows of some files, and the conditions under which a row is rejected or late."""

    feed: Feed
    columns: tuple[Column, ...]
    layouts: tuple[Layout, ...]
    parsed: Narrowed
    judgement: Judgement
    beyond: str
    """The part of the judgement that says that a row is of the future."""
    partitions: tuple[str, ...]
    lines: int | None = None
    """How many lines Spark was handed instead of files: it makes one row of each."""

    def good(self) -> Narrowed:
        return self._rows(self.judgement.good)

    def good_by_file(self) -> DataFrame:
        """The good rows, each with the path of its file and where in it Spark began to read.

        A large file is read in pieces, and these do not come in order. The batch must have been read with files.
        """
        columns = (quoted(column.name) for column in self.columns)
        rows = self.parsed.as_frame().where(f"NOT ({self.judgement.unfit})")
        return rows.selectExpr(*columns, f"{_PLAIN_PATH} AS {FILE}", BLOCK)

    def fitting(self) -> Narrowed:
        """The good rows and the late ones."""
        return self._rows(f"NOT ({self.judgement.unfit})")

    def late_rows(self) -> Narrowed:
        return self._rows(f"NOT ({self.judgement.unfit}) AND ({self.judgement.late})")

    def rejected(self) -> DataFrame:
        """File, content and reason of the rows that do not fit. The batch must have been read with files."""
        reasons = [
            reason(self.feed, self.columns, layout, beyond=self.beyond, partitions=self.partitions)
            for layout in self.layouts
        ]
        told = reasons[0]
        for place, other in enumerate(reasons[1:], start=1):
            told = sf.when(sf.col(_LAYOUT) == place, other).otherwise(told)
        return (
            self.parsed.as_frame()
            .where(self.judgement.unfit)
            .select(
                sf.expr(_PLAIN_PATH).alias("file"),
                sf.expr(content_of(self.feed, self.columns, self.layouts)).alias("content"),
                told.alias("reason"),
            )
        )

    def tally(self) -> Tally:
        """How many rows got which verdict."""
        count = self.judgement.tally if self.lines is None else self.judgement.tally_in_place
        return count(self.parsed.as_frame())

    def read_through(self) -> None:
        """Read every value, and keep none. Counting leaves out what is within structs, arrays and maps."""
        self.parsed.as_frame().write.format("noop").mode("overwrite").save()

    def watched(self) -> tuple[Batch, Watch]:
        """The same batch, of which the rows are counted when they are read."""
        counted, watch = self.judgement.watched(self.parsed.as_frame())
        return replace(self, parsed=Narrowed(frame=counted)), watch

    def _rows(self, condition: str) -> Narrowed:
        return replace(self.parsed, columns=tuple(quoted(column.name) for column in self.columns), condition=condition)


# The metadata column spells a path as a URI; users know it as a path.
_PLAIN_PATH = f"regexp_replace(url_decode(replace({_FILE}, '+', '%2B')), '^file:(//)?', '')"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedReader:
    """Reads files of a feed."""

    session: SparkSession
    feed: Feed
    extra: tuple[Column, ...]
    """Columns that the feed has gained."""
    watch: WatchFiles
    """Begins to watch files; what it returns is asked once they have been read, before anything is committed."""
    partitions: tuple[str, ...] = ()
    """Columns whose values become names of folders."""
    scans: SharedScans | None = None
    """With these the files are read once for all tables of an update."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.feed.columns, *self.extra)

    @property
    def _in_files(self) -> tuple[Column, ...]:
        return (*self.feed.schema, *self.extra)

    def read(
        self, items: Sequence[LoadItem], *, judge: bool = True, with_files: bool = True, handed: bool = False
    ) -> Batch:
        """Parse the files of a load together: what waits together is read together.

        Without `judge` no row is late or of the future, and without `with_files` the rows do not know their files;
        both make the batch cheaper to read. With `handed` Spark is handed the lines of the files, where it need not
        know whose they are.
        """
        limits = _limits(self.feed, items) if judge else {}
        named = with_files or any(len(set(by_path.values())) > 1 for by_path in limits.values())
        layouts: dict[Layout, list[Arrival]] = defaultdict(list)
        for item in items:
            layouts[spark_format(self.feed).layout(self.feed, item.arrival, self._in_files)].append(item.arrival)
        unnamed = any(layout.unnamed for layout in layouts)
        parts: list[Narrowed] = []
        lines: int | None = 0 if not named and (handed or not items) else None
        for place, (layout, files) in enumerate(layouts.items()):
            values = parsed_values(self.feed, self._in_files, layout, unnamed=unnamed)
            if named:
                parts.append(self._named(layout, files, (*values, f"{place} AS {_LAYOUT}")))
                continue
            given = layout.handed_over(self.session, files) if handed else None
            raw, count = given or (layout.frame(self.session, files), None)
            lines = None if lines is None or count is None else lines + count
            as_read = [*(quoted(column.name) for column in layout.present), CONTENT]
            is_as_read = values == as_read and not layout.has_more
            parts.append(Narrowed(frame=raw) if is_as_read else Narrowed(frame=raw, values=tuple(values)))
        limited, parsed = _by_file(self.session, self._together(parts), limits)
        time_column = self.feed.time.column
        time = "CAST(NULL AS BIGINT)" if time_column is None else f"unix_micros({quoted(time_column)})"
        late, beyond = (
            f"coalesce({time} {relation} {limited[name]}, false)" if name in limited else _NEVER
            for name, relation in ((_LATE_UPTO, "<="), (_LATEST, ">"))
        )
        unfit = unfit_conditions(
            self.feed,
            self.columns,
            is_parsed=spark_format(self.feed).is_parsed,
            partitions=self.partitions,
            unnamed=unnamed,
        )
        if beyond != _NEVER:
            unfit.append(beyond)
        return Batch(
            feed=self.feed,
            columns=self.columns,
            layouts=tuple(layouts) or (self._without_files,),
            parsed=parsed,
            judgement=Judgement(unfit=" OR ".join(unfit) or "false", late=late, time=time),
            beyond=beyond,
            partitions=self.partitions,
            lines=lines,
        )

    def _named(self, layout: Layout, files: Sequence[Arrival], values: Sequence[str]) -> Narrowed:
        # The hidden column is there for the frame itself only, not through a view of it.
        place = (f"{part} AS {name}" for part, name in zip(layout.place, (_FILE, _BLOCK), strict=True))
        selected = layout.frame(self.session, files).selectExpr(*values, *place)
        if self.scans is not None:
            key = (self.feed.name, layout, self.columns, *(file.position for file in files))
            selected = self.scans.kept(key, lambda: selected)
        return Narrowed(frame=selected)

    def _together(self, parts: Sequence[Narrowed]) -> Narrowed:
        if len(parts) == 1 and self.feed.time.expression is None:
            return parts[0]
        if parts:
            rows = reduce(DataFrame.unionByName, [part.as_frame() for part in parts])
            return Narrowed(frame=rows if self.feed.time.expression is None else with_computed_time(rows, self.feed))
        marks = (f"CAST(NULL AS STRING) AS {name}" for name in (CONTENT, TIME_TEXT, _FILE))
        return Narrowed(frame=self._without_files.frame(self.session, ()), values=("*", *marks))

    @property
    def _without_files(self) -> Layout:
        return NoFiles(feed=self.feed, present=self.columns)


def in_question(feed: Feed, items: Sequence[LoadItem], tally: Tally) -> bool:
    """Whether, by the bounds of the times that were found, a row may be late or of the future."""
    if tally.low is None or tally.high is None:
        return False
    return any(
        (item.late_upto is not None and tally.low <= item.late_upto)
        or ((latest := latest_allowed(feed, item.arrival)) is not None and tally.high > latest)
        for item in items
    )


def confirmed(tally: Tally | None, items: Sequence[LoadItem], count: Callable[[], Tally]) -> Tally:
    """What was counted on the way, if it agrees with what was counted on arrival.

    Otherwise it is counted by itself: Spark counts work that it repeats twice, and leaves out what a query did not ask
    for. What differs then differs, and the counts of the table will tell.
    """
    if not items:
        return Tally()
    expected = [item.arrival.rows for item in items]
    arrived = None if None in expected else sum(rows or 0 for rows in expected)
    if tally is not None and tally.read == arrived:
        return tally
    counted = count()
    if arrived is not None and counted.read != arrived:
        paths = ", ".join(item.arrival.position for item in items[:3]) + (", ..." if len(items) > 3 else "")
        _logger.warning("%d rows arrived in %s, and Spark reads %d.", arrived, paths, counted.read)
    return counted


_Limits = Mapping[str, int | None]
"""By path of a file, in microseconds; None: there is none."""


def _limits(feed: Feed, items: Sequence[LoadItem]) -> dict[str, _Limits]:
    """Up to where the rows of each file are late, and from where on they are of the future."""
    given: dict[str, _Limits] = {
        _LATE_UPTO: {item.arrival.position: item.late_upto for item in items},
        _LATEST: {item.arrival.position: latest_allowed(feed, item.arrival) for item in items},
    }
    return {name: limits for name, limits in given.items() if set(limits.values()) - {None}}


def _by_file(session: SparkSession, parsed: Narrowed, limits: Mapping[str, _Limits]) -> tuple[dict[str, str], Narrowed]:
    """An expression for each kind of limit of a row's file, and the rows that it can be asked of.

    A map for few files; a join for many, since looking a file up in a map takes longer the more there are.
    """
    same = {name: f"{next(iter(of.values()))}L" for name, of in limits.items() if len(set(of.values())) == 1}
    different = {name: of for name, of in limits.items() if name not in same}
    if not different:
        return same, parsed
    uri_of = jvm_of(session).file_uri
    paths = {path: uri_of(path) for path in next(iter(different.values()))}
    if len(paths) <= _MAP_LIMIT:
        maps = {
            name: ", ".join(f"{literal(paths[path])}, {limit}L" for path, limit in of.items() if limit is not None)
            for name, of in different.items()
        }
        return same | {name: f"try_element_at(map({pairs}), {_FILE})" for name, pairs in maps.items()}, parsed
    rows = [(uri, *(of[path] for of in different.values())) for path, uri in paths.items()]
    table = session.createDataFrame(rows, ", ".join([f"{_FILE} string", *(f"{name} bigint" for name in different)]))
    joined = Narrowed(frame=parsed.as_frame().join(sf.broadcast(table), _FILE, "left"))
    return same | {name: name for name in different}, joined
