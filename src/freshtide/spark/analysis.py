"""Letting Spark resolve every table's columns before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BooleanType,
    CharType,
    DateType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from freshtide.core.errors import FreshtideError, Origin, Problem, ProjectError
from freshtide.core.feeds import Column, Feed
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Kind, Maintenance, Query, SqlQuery, Table
from freshtide.spark.computedtimes import check_computed_time
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.flows.loads import LoadingFlows
from freshtide.spark.incremental import NotIncrementalError, against, columns_by_former, known_query
from freshtide.spark.permissions import NotPermittedError
from freshtide.spark.queries import resolve
from freshtide.spark.reading import schema_of
from freshtide.spark.schemas import TableSchemas, input_schema
from freshtide.spark.zonerules import require_same_rules

_PLACE = re.compile(r"; line (?P<line>\d+) pos \d+")
_SYNTAX_PLACE = re.compile(r" ?\(line (?P<line>\d+), pos \d+\)")

_PARTITION_TYPES = (BooleanType, NumericType, StringType, CharType, VarcharType, DateType, TimestampType)


def resolve_columns(
    session: SparkSession,
    feeds: Mapping[str, Feed],
    graph: TableGraph,
    flows: LoadingFlows,
    extra_columns: Mapping[str, tuple[Column, ...]] | None = None,
) -> TableSchemas:
    """The schema of every table, or a ProjectError with everything Spark cannot resolve."""
    wrong_times = _problems_of_times(session, feeds, graph)
    problems = list(wrong_times.values())
    resolution = _Resolution(
        session=session, feeds=feeds, graph=graph, flows=flows, extra=extra_columns or {}, known={}
    )
    waiting = [table for table in sorted(graph.values(), key=_turn) if table.feed not in wrong_times]
    while waiting:
        unresolved = []
        for table in waiting:
            found = _problems_of(table, resolution)
            if found is None:
                unresolved.append(table)
            else:
                problems += found
        if len(unresolved) == len(waiting):
            break
        waiting = unresolved
    if problems:
        raise ProjectError(problems)
    return TableSchemas(resolution.known)


def _turn(table: Table) -> int:
    """Flows read tables, and make some that views read."""
    if table.is_derived:
        return 3
    return 2 if table.made_by is not None else 1 if table.flow is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolution:
    """The columns of tables, as far as they are known."""

    session: SparkSession
    feeds: Mapping[str, Feed]
    graph: TableGraph
    flows: LoadingFlows
    extra: Mapping[str, tuple[Column, ...]]
    known: dict[str, StructType]

    def resolve(self, table: Table) -> bool:
        """Add the columns of a table to those that are known; False: nobody can tell yet."""
        if any(source not in self.known for source in table.sources):
            return False  # Where a source is broken, that is the problem to mend.
        if table.made_by is not None:
            return self._resolve_made(table, table.made_by)
        inputs = self._inputs(table)
        frame = resolve(self.session, table.query, inputs, files=table.is_base)
        flow = self.flows.of(table)
        if flow is None:
            self.known[table.name] = _checked(table, frame.schema)
        else:
            written = flow.columns(self.session, frame, self.known)
            if written is None:
                return False
            self.known[table.name] = _checked(table, written[table.name.lower()])
            for made in self.graph.made_by(flow.graph.name):
                self.known[made.name] = written[made.name.lower()]
        if table.maintain is Maintenance.INCREMENTAL:
            known_query(self.session, table.query, inputs)
        return True

    def _resolve_made(self, table: Table, flow: str) -> bool:
        """What the flow would write, or else what it has written. To look at files takes Spark a while: who asks?"""
        if table.name in self.known:
            return True
        is_read = any(table.name in other.sources for other in self.graph.values())
        is_load = any(other.flow == flow for other in self.graph.values())
        written = self.flows.run_by_hand(flow, self.session, self.known) if is_read and not is_load else None
        stored = self.flows.store.table(table.name).snapshot
        if written is not None:
            self.known[table.name] = written[table.name.lower()]
        elif stored is not None:
            self.known[table.name] = schema_of(stored)
        return table.name in self.known

    def _inputs(self, table: Table) -> Mapping[str, StructType]:
        if table.feed is None:
            return {source: self.known[source] for source in table.sources}
        return {table.feed: input_schema(table, self.feeds[table.feed], self.extra.get(table.feed, ()))}


def _problems_of(table: Table, resolution: _Resolution) -> list[Problem] | None:
    """What Spark finds wrong with a table; None where its columns cannot be told yet."""
    try:
        return [] if resolution.resolve(table) else None
    except PySparkException as error:
        return [problem_of(table, error)]
    except ProjectError as error:
        return list(error.problems)
    except NotIncrementalError as error:
        told = f"'{table.name}' cannot be maintained from changes: {error.operator} has no rule."
        return [Problem(message=told, origin=table.origin, way_out=error.way_out)]
    except FreshtideError as error:
        told = f"In '{table.name}': {error.message}" if isinstance(error, NotPermittedError) else error.message
        return [Problem(message=told, origin=table.origin, way_out=error.way_out)]
    except Exception as error:
        return [Problem(message=f"'{table.name}' failed: {error!r}", origin=table.origin)]


def _problems_of_times(session: SparkSession, feeds: Mapping[str, Feed], graph: TableGraph) -> dict[str, Problem]:
    """What Spark finds wrong with the times of feeds that are read, by their names."""
    found = {}
    for name in dict.fromkeys(table.feed for table in graph.values() if table.feed is not None):
        feed = feeds[name]
        try:
            require_same_rules(session, feed.time_zone)
            if feed.time.expression is not None:
                check_computed_time(session, feed)
        except FreshtideError as error:
            found[name] = Problem(message=error.message, origin=feed.origin, way_out=error.way_out)
    return found


def against_changes(session: SparkSession, graph: TableGraph, schemas: TableSchemas) -> dict[str, str | None]:
    """Of each view that is computed in full, what keeps it from being maintained from changes; None: nothing does."""
    found: dict[str, str | None] = {}
    for table in graph.values():
        if table.kind is not Kind.VIEW or table.maintain is not Maintenance.FULL:
            continue
        if any(schemas.types(source) is None for source in table.sources):
            continue
        found[table.name] = against(session, table, schemas)
    return found


def as_of_joins(session: SparkSession, graph: TableGraph, schemas: TableSchemas) -> dict[str, tuple[str, ...]]:
    """The as-of joins of views that are maintained from changes, or could be, in words."""
    found: dict[str, tuple[str, ...]] = {}
    for table in graph.values():
        is_known = all(schemas.types(source) is not None for source in table.sources)
        if table.kind is Kind.VIEW and table.maintain in (Maintenance.FULL, Maintenance.INCREMENTAL) and is_known:
            with suppress(NotIncrementalError):
                joins = known_query(session, table.query, {source: schemas.of(source) for source in table.sources})
                if joins.as_of_joins:
                    found[table.name] = joins.as_of_joins
    return found


def compared(session: SparkSession, table: Table, former: Query, schemas: TableSchemas) -> tuple[str, ...] | None:
    """What the columns of a view are of those that its former query gives; none: they are the same.

    None where it has other rows, or nobody can tell.
    """
    if not isinstance(table.query, SqlQuery) or not isinstance(former, SqlQuery):
        return None
    try:
        return columns_by_former(session, table.query, former, {one: schemas.of(one) for one in table.sources})
    except (FreshtideError, KeyError, *SPARK_ERRORS):
        # The former one may name what is not there any more.
        return None


def problem_of(table: Table, error: PySparkException) -> Problem:
    """Spark's complaint about a query, at its place in the user's file."""
    text = str(error)
    place = _PLACE.search(text) or _SYNTAX_PLACE.search(text)
    origin = table.origin
    if origin is not None and place is not None and isinstance(table.query, SqlQuery):
        origin = Origin(file=origin.file, line=table.query.first_line + int(place["line"]) - 1)
    words = plain_words(error)
    if place is not None:
        words = words.split(place[0])[0]
    return Problem(message=f"In '{table.name}': {words}", origin=origin)


def _checked(table: Table, schema: StructType) -> StructType:
    names = [field.name.lower() for field in schema]
    for field in schema:
        if names.count(field.name.lower()) > 1:
            raise FreshtideError(
                f"'{table.name}' has two columns named '{field.name}'.", way_out="Give one of them an alias."
            )
        if isinstance(field.dataType, NullType):
            raise FreshtideError(
                f"Column '{field.name}' of '{table.name}' has no type.",
                way_out=f"Write CAST(NULL AS STRING) AS {field.name}, or whatever type it should have.",
            )
        if isinstance(field.dataType, TimestampNTZType):
            raise FreshtideError(
                f"Column '{field.name}' of '{table.name}' is a timestamp without time zone.",
                way_out="Cast it to TIMESTAMP: all times in a table are UTC.",
            )
        if field.name in table.partition_by and not isinstance(field.dataType, _PARTITION_TYPES):
            kind = field.dataType.simpleString()
            raise FreshtideError(
                f"'{table.name}' is partitioned by '{field.name}', a {kind}, which no folder can be named after.",
                way_out="Partition by a text, a number, a boolean, a date or a timestamp, such as hex() of a binary.",
            )
    for name in (*table.partition_by, *((table.time_column,) if table.time_column else ())):
        if name.lower() not in names:
            raise FreshtideError(
                f"'{table.name}' has no column '{name}'.", way_out=f"Its columns: {', '.join(schema.names)}."
            )
    if table.time_column:
        kind = schema[table.time_column].dataType.typeName()
        if kind not in {"timestamp", "date"}:
            raise FreshtideError(
                f"The time column '{table.time_column}' of '{table.name}' is a {kind}.",
                way_out="A time column is a TIMESTAMP or a DATE.",
            )
    return schema
