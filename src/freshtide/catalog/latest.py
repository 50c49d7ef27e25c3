"""How the update stream of each update table stands, for those who look on from other processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Engine, delete, insert, select, update

from freshtide.catalog.rows import transaction
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


class LatestStreams:
    """One row per update table that has had anything."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> dict[str, LatestStreamRow]:
        with self._engine.connect() as connection:
            found = [dict(row) for row in connection.execute(select(update_streams)).mappings()]
        return {row.pop("table_name"): LatestStreamRow(**row) for row in found}

    def put(self, table: str, row: LatestStreamRow, *, within: Connection | None = None) -> None:
        values = asdict(row)
        with transaction(self._engine, within) as connection:
            changed = connection.execute(
                update(update_streams).where(update_streams.c.table_name == table).values(values)
            )
            if not changed.rowcount:
                connection.execute(insert(update_streams).values(table_name=table, **values))

    def forget_all_but(self, tables: Iterable[str]) -> None:
        """Drop the rows of tables that are update tables no longer."""
        with self._engine.begin() as connection:
            connection.execute(delete(update_streams).where(update_streams.c.table_name.not_in(list(tables))))
