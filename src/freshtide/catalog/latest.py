"""How the update stream of each update table stands, for those who look on from other processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from freshtide.catalog.database import Database
from freshtide.catalog.schema import update_streams


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestStreamRow:
    """What waits for an update table, and what became of the rows that did not come into it."""

    pending_since: float | None = None
    """When the oldest pending update arrived; None where nothing is pending."""
    residents: int = 0
    """Rows that wait: one per key, or those of a window."""
    superseded: int = 0
    """Rows that a newer one of their key replaced before they were processed."""
    rejected: int = 0
    taken_in: int | None = None
    """The newest file whose rows have been taken into the queue. Files up to it may still be pending: until none of
    their rows waits they would be read again after a crash."""


_ALL = select(update_streams)
_CHANGE = update(update_streams).where(update_streams.c.table_name == bindparam("table"))
_ADD = insert(update_streams)
_FORGET = delete(update_streams).where(update_streams.c.table_name.not_in(bindparam("kept", expanding=True)))


class LatestStreams:
    """One row per update table that has had anything."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, LatestStreamRow]:
        with self._database.reading() as connection:
            found = [dict(row) for row in connection.execute(_ALL).mappings()]
        return {row.pop("table_name"): LatestStreamRow(**row) for row in found}

    def put(self, table: str, row: LatestStreamRow, *, within: Connection | None = None) -> None:
        values = asdict(row)
        with self._database.writing(within) as connection:
            changed = connection.execute(_CHANGE, {**values, "table": table})
            if not changed.rowcount:
                connection.execute(_ADD, {**values, "table_name": table})

    def forget_all_but(self, tables: Iterable[str]) -> None:
        """Drop the rows of tables that are update tables no longer."""
        with self._database.writing() as connection:
            connection.execute(_FORGET, {"kept": list(tables)})
