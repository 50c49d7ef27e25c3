"""Files as rows of a table, and back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import RowMapping, Table

from freshtide.core.files import FeedFile, FileState


def values_of(file: FeedFile, table: Table) -> dict[str, Any]:
    """A file in the columns of a table, without the number that the table gives it."""
    values = {name: getattr(file, name) for name in FeedFile.__slots__ if name != "id" and name in table.c}
    if "columns" in values and file.columns is not None:
        values["columns"] = list(file.columns)
    return values


def file_of(row: RowMapping) -> FeedFile:
    values = {**row, "state": FileState(row.get("state", FileState.REFUSED))}
    if values.get("columns") is not None:
        values["columns"] = tuple(values["columns"])
    return FeedFile(**values)
