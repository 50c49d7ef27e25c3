"""The time column of a feed: there, and of a type that holds a time."""

from __future__ import annotations

from freshtide.core.errors import Problem, suggestion
from freshtide.core.feeds import Column
from freshtide.project.feeds.columns import UNKNOWN
from freshtide.project.notation.validation import Place

_TIME_TYPES = ("timestamp", "timestamp_ltz", "timestamp_ntz", "date")
_FORMATTED_TIME_TYPES = ("string", "int", "bigint", "double")


def find_time_column(
    named: str, columns: tuple[Column, ...], time_format: str | None, place: Place
) -> tuple[str, list[Problem]]:
    """The time column in the schema's spelling, and what is wrong with it."""
    if not columns:
        return named, []
    by_name = {column.name.lower(): column for column in columns}
    column = by_name.get(named.lower())
    if column is None:
        message = f"The time column '{named}' is not in the schema."
        return named, [_at(place, message, suggestion(named, (column.name for column in columns)))]
    if column.type in (*_TIME_TYPES, UNKNOWN):
        return column.name, []
    if column.type not in _FORMATTED_TIME_TYPES:
        message = f"The time column '{column.name}' is of type {column.type}, which holds no time."
        return column.name, [_at(place, message, "Declare it as timestamp or date.")]
    if time_format is None:
        message = f"The time column '{column.name}' is of type {column.type}, and how it is written is not said."
        way_out = (
            "Declare it as timestamp, or give time_format: epoch_seconds, epoch_millis or a Spark datetime "
            "pattern like yyyy-MM-dd HH:mm:ss."
        )
        return column.name, [_at(place, message, way_out)]
    return column.name, []


def _at(place: Place, message: str, way_out: str) -> Problem:
    return Problem(message=message, origin=place(("time_column",)), way_out=way_out)
