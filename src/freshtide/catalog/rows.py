"""Rows of the catalog's tables: several writes as one, and files as rows and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, Table

from freshtide.core.files import FeedFile, FileState


@contextmanager
def transaction(engine: Engine, joined: Connection | None = None) -> Iterator[Connection]:
    """The transaction that is being joined, or one of its own."""
    if joined is not None:
        yield joined
        return
    with engine.begin() as connection:
        yield connection


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
