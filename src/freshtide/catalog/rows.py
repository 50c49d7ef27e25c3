"""Arrivals as rows of the catalog's tables, and back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import RowMapping, Table

from freshtide.core.arrivals import Arrival, ArrivalState

_COLUMNS = {"position": "path", "digest": "sha256"}
"""What is called otherwise in the tables."""
_FIELDS = {column: field for field, column in _COLUMNS.items()}


def values_of(arrival: Arrival, table: Table) -> dict[str, Any]:
    """An arrival in the columns of a table, without the number that the table gives it."""
    named = {_COLUMNS.get(field, field): field for field in Arrival.__slots__ if field != "id"}
    values = {column: getattr(arrival, field) for column, field in named.items() if column in table.c}
    if "columns" in values and arrival.columns is not None:
        values["columns"] = list(arrival.columns)
    return values


def arrival_of(row: RowMapping) -> Arrival:
    values = {_FIELDS.get(column, column): value for column, value in row.items()}
    if values.get("columns") is not None:
        values["columns"] = tuple(values["columns"])
    return Arrival(**{**values, "state": ArrivalState(row.get("state", ArrivalState.REFUSED))})
