"""The tables of one row per key that a warehouse has, each opened once: their keys are kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from freshtide.core.latest import WINDOW_COLUMNS
from freshtide.core.sides import gone_beside, keys_can_go
from freshtide.core.tables import Table
from freshtide.storage import GONE_AT, LatestTable, Store


def identity(table: Table) -> tuple[tuple[str, ...], str]:
    """The columns of which a table has one row for each value: the update key or, with windows, key and window.

    With them comes the column that says which of two such rows is younger.
    """
    assert table.latest is not None, f"{table.name} is no table of one row per key"
    assert table.time_column is not None, f"{table.name} has no time column"
    windows = WINDOW_COLUMNS if table.latest.windows is not None else ()
    return (*table.latest.key, *windows), table.time_column


class LatestTables:
    """Tables of one row per key by name, and by another key that their rows are looked up by."""

    def __init__(self, tables: Mapping[str, Table], store: Store) -> None:
        self.tables = tables
        self._store = store
        self._opened: dict[tuple[str, tuple[str, ...]], LatestTable] = {}
        self._lock = threading.Lock()

    def follow(self, tables: Mapping[str, Table]) -> None:
        """There may be more tables from now on; those that were there are what they were."""
        self.tables = {**self.tables, **tables}

    def __getitem__(self, name: str) -> LatestTable:
        return self.by(identity(self.tables[name])[0], name)

    def by(self, key: tuple[str, ...], name: str) -> LatestTable:
        """A table with its rows by a key that may be a part of its own: several of them can have the same."""
        with self._lock:
            if (name, key) not in self._opened:
                table = self.tables[name]
                _, time_column = identity(table)
                stored = self._store.table(name, time_column=time_column)
                gone = self._store.table(gone_beside(table), time_column=GONE_AT) if keys_can_go(table) else None
                self._opened[name, key] = LatestTable(stored, key=key, time_column=time_column, gone=gone)
            return self._opened[name, key]
