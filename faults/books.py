"""Catalogs' databases in memory: what was committed is there after a crash, and nothing else."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from faults.disk import DeadError
from faults.plainsql import PlainEngine
from faults.turns import Process
from freshtide.catalog import Catalog
from freshtide.catalog.schema import metadata
from freshtide.catalog.upgrades import bring_up_to_date

# More than a run ever asks.
_STATEMENTS = 1_000
_NUMBERS = "SELECT name, number FROM tables"
_LOADS = """
SELECT loads.table_name, files.path, coalesce(loads.sha256, files.sha256)
FROM loads JOIN files ON files.id = loads.file_id WHERE loads.number IS NOT NULL
"""
_GIVEN_UP = """
SELECT 1 FROM tables WHERE status = 'failed' UNION ALL SELECT 1 FROM files WHERE state IN ('quarantined', 'refused')
UNION ALL SELECT 1 FROM refusals
"""


class Books:
    """One database, for all processes that share it; each world begins with empty ones."""

    def __init__(self, place: int = 0) -> None:
        """`place` tells the databases of a world apart."""
        self._database = _database(place)
        # Emptied, and not made anew: what SQLite has prepared stays so.
        for table in metadata.sorted_tables:
            self._database.execute(f"DELETE FROM {table.name}")
        self._database.execute("DELETE FROM sqlite_sequence")
        self._database.commit()
        self._found: dict[str, tuple[int, list[Any]]] = {}
        """What was found last by a question, when so many rows had been changed."""

    def catalog(self, process: Process) -> Catalog:
        """The catalog as one process has it. Whatever a process asks after its end is not heard."""
        engine: Any = PlainEngine(_Line(self._database, process))
        return Catalog(engine)

    @property
    def is_in_transaction(self) -> bool:
        return self._database.in_transaction

    def numbers(self) -> dict[str, int]:
        """By table the last update that is booked."""
        return dict(self._asked(_NUMBERS))

    def loads(self) -> set[tuple[str, str, str]]:
        """(table, path, digest) of all files that are booked as loaded."""
        return set(self._asked(_LOADS))

    @property
    def needs_a_user(self) -> bool:
        """Whether anything was given up, or put aside."""
        return bool(self._asked(_GIVEN_UP))

    def _asked(self, question: str) -> list[Any]:
        changes, found = self._database.total_changes, self._found.get(question)
        if found is None or found[0] != changes or self.is_in_transaction:
            found = changes, self._database.execute(question).fetchall()
            if not self.is_in_transaction:  # What is not committed may be taken back.
                self._found[question] = found
        return found[1]


class _Line:
    """A connection to a database, as one process has it."""

    def __init__(self, database: sqlite3.Connection, process: Process) -> None:
        self._database = database
        self._process = process

    def cursor(self) -> sqlite3.Cursor:
        """Every statement begins with one."""
        self._ask()
        return self._database.cursor()

    def commit(self) -> None:
        self._ask()
        self._database.commit()

    def rollback(self) -> None:
        self._database.rollback()

    def _ask(self) -> None:
        self._process.ask_database()
        if not self._process.is_alive:
            raise DeadError("database", self._process.name)


@cache
def _database(place: int) -> sqlite3.Connection:
    """A database with the catalog's tables and nothing in them."""
    del place
    database = sqlite3.connect(":memory:", check_same_thread=False, cached_statements=_STATEMENTS)
    bring_up_to_date(create_engine("sqlite://", creator=lambda: database, poolclass=StaticPool))
    return database
