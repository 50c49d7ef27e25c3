"""The time of a feed's rows: a column of a type that holds a time, or computed from several columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.core.errors import Problem, suggestion
from freshtide.core.feeds import UTC_ZONE, Column, RowTime, TimestampFrom
from freshtide.project.feeds.columns import UNKNOWN, column_name_fault
from freshtide.project.notation.validation import Place
from freshtide.sql import ExpressionError, check_row_expression

COMPUTED_TIME = "event_time"
"""What a computed time is called unless the feed says otherwise."""
_LOCAL = "timestamp_ntz"
_TIME_TYPES = ("timestamp", "timestamp_ltz", _LOCAL, "date")
_FORMATTED_TIME_TYPES = ("string", "int", "bigint", "double")
# The key of a map ends with the first comma that is not within brackets: a key of a map has none.
_TIME_AS_KEY = re.compile(r"\bmap\s*<\s*timestamp(_ltz)?\s*,", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTime:
    """What is said of the time of rows, as it is written."""

    column: str | None
    format: str | None = None
    expression: str | None = None
    zone: str = UTC_ZONE
    timestamp_from: TimestampFrom | None = None
    """Where the time stamps of files come from, if these are what the feed brings: their rows need have no time."""


def read_time(written: WrittenTime, columns: tuple[Column, ...], place: Place) -> tuple[RowTime, list[Problem]]:
    """The time of rows, with its column in the schema's spelling, and what is wrong with it."""
    problems = _local_keys(written, columns, place)
    name: str | None = None
    more: list[Problem] = []
    if written.expression is not None:
        name, more = _computed(written.expression, written, columns, place)
    elif written.column is not None:
        name, more = _found(written.column, written, columns, place)
    elif written.timestamp_from is None:
        more = [Problem(message="'time_column' is missing.", origin=place(()))]
    return RowTime(column=name, format=written.format, expression=written.expression), problems + more


def _computed(
    expression: str, written: WrittenTime, columns: tuple[Column, ...], place: Place
) -> tuple[str, list[Problem]]:
    name, problems = written.column or COMPUTED_TIME, []
    taken = {column.name.lower(): column.name for column in columns}
    if name.lower() in taken:
        message = f"'time' computes the column '{name}', and the schema has one of that name."
        problems.append(_at(place, message, "Give the computed one another name by 'time_column'.", key="time"))
    if fault := column_name_fault(name):
        problems.append(_at(place, *fault))
    if written.format is not None:
        message = "'time_format' says how a time column is written, and 'time' computes it."
        problems.append(_at(place, message, "Take one of them out.", key="time_format"))
    if written.timestamp_from is TimestampFrom.CONTENT:
        message = (
            "'time' is computed by Spark, when a file is loaded; the time stamp of a file is needed when it arrives, "
            "and cannot come from its rows then."
        )
        way_out = 'Say where it comes from: timestamp: {name: "cpu_%Y%m%d%H%M*.csv"}, or timestamp: modified.'
        problems.append(_at(place, message, way_out, key="time"))
    if columns:
        try:
            check_row_expression(expression, [column.name for column in columns])
        except ExpressionError as error:
            problems.append(_at(place, f"'time' {error.message}", error.way_out or "", key="time"))
    return name, problems


def _found(named: str, written: WrittenTime, columns: tuple[Column, ...], place: Place) -> tuple[str, list[Problem]]:
    by_name: Mapping[str, Column] = {column.name.lower(): column for column in columns}
    column = by_name.get(named.lower())
    if column is None:
        message = f"The time column '{named}' is not in the schema."
        known = suggestion(named, (column.name for column in columns))
        return named, [_at(place, message, known)] if columns else []
    if column.type == _LOCAL and written.zone != UTC_ZONE:
        message = f"The time column '{column.name}' is of type {_LOCAL}, which keeps local times as they are."
        way_out = f"Declare it as timestamp: then its times are instants, by the clocks of {written.zone}."
        return column.name, [_at(place, message, way_out)]
    if column.type in (*_TIME_TYPES, UNKNOWN):
        return column.name, []
    if column.type not in _FORMATTED_TIME_TYPES:
        message = f"The time column '{column.name}' is of type {column.type}, which holds no time."
        return column.name, [_at(place, message, "Declare it as timestamp or date.")]
    if written.format is None:
        message = f"The time column '{column.name}' is of type {column.type}, and how it is written is not said."
        way_out = (
            "Declare it as timestamp, or give time_format: epoch_seconds, epoch_millis or a Spark datetime "
            "pattern like yyyy-MM-dd HH:mm:ss."
        )
        return column.name, [_at(place, message, way_out)]
    return column.name, []


def _local_keys(written: WrittenTime, columns: tuple[Column, ...], place: Place) -> list[Problem]:
    """Two local times may be one instant, and two keys of a map must not become one."""
    return [
        _at(
            place,
            f"The column '{column.name}' has times as keys of a map, and two local times can be the same instant.",
            "Declare the keys as string, or take 'time_zone' out.",
            key="schema",
        )
        for column in columns
        if written.zone != UTC_ZONE and _TIME_AS_KEY.search(column.type)
    ]


def _at(place: Place, message: str, way_out: str, *, key: str = "time_column") -> Problem:
    return Problem(message=message, origin=place((key,)), way_out=way_out)
