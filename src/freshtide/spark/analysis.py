"""Letting Spark resolve every table's columns before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
from freshtide.core.tables import Kind, Maintenance, SqlQuery, Table
from freshtide.spark.computedtimes import check_computed_time
from freshtide.spark.failures import plain_words
from freshtide.spark.flows.loads import LoadingFlows
from freshtide.spark.incremental import NotIncrementalError, compiled
from freshtide.spark.permissions import NotPermittedError
from freshtide.spark.queries import resolve
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
    extra = extra_columns or {}
    known: dict[str, StructType] = {}
    wrong_times = _problems_of_times(session, feeds, graph)
    problems = list(wrong_times.values())
    # Flows may read tables that are declared after those that they load.
    for table in sorted(graph.values(), key=lambda table: not table.is_base or table.flow is not None):
        if table.feed in wrong_times or any(source not in known for source in table.sources):
            continue  # Its source is broken: the source's problem is the one to mend.
        try:
            inputs = _inputs(table, feeds, extra, known)
            frame = resolve(session, table.query, inputs, files=table.is_base)
            flow = flows.of(table)
            schema = frame.schema if flow is None else flow.columns(session, frame, known)
            if schema is not None:
                known[table.name] = _checked(table, schema)
            if table.maintain is Maintenance.INCREMENTAL:
                compiled(session, table.query, inputs)
        except PySparkException as error:
            problems.append(problem_of(table, error))
        except ProjectError as error:
            problems += error.problems
        except NotIncrementalError as error:
            told = f"'{table.name}' cannot be maintained from changes: {error.operator} has no rule."
            problems.append(Problem(message=told, origin=table.origin, way_out=error.way_out))
        except NotPermittedError as error:
            told = f"In '{table.name}': {error.message}"
            problems.append(Problem(message=told, origin=table.origin, way_out=error.way_out))
        except FreshtideError as error:
            problems.append(Problem(message=error.message, origin=table.origin, way_out=error.way_out))
        except Exception as error:
            problems.append(Problem(message=f"'{table.name}' failed: {error!r}", origin=table.origin))
    if problems:
        raise ProjectError(problems)
    return TableSchemas(known)


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
        try:
            compiled(session, table.query, {source: schemas.of(source) for source in table.sources})
        except NotIncrementalError as error:
            found[table.name] = error.operator
        else:
            found[table.name] = None
    return found


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


def _inputs(
    table: Table,
    feeds: Mapping[str, Feed],
    extra: Mapping[str, tuple[Column, ...]],
    known: Mapping[str, StructType],
) -> Mapping[str, StructType]:
    if table.feed is None:
        return {source: known[source] for source in table.sources}
    return {table.feed: input_schema(table, feeds[table.feed], extra.get(table.feed, ()))}


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
