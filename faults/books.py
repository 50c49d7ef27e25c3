"""The catalog's database in memory: what was committed is there after a crash, and nothing else."""

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
from freshtide.catalog.upgrades import bring_up_to_date


class Books:
    """One database for all processes of a world; each world begins with an empty one."""

    def __init__(self) -> None:
        _database().deserialize(_empty())

    def catalog(self, process: Process) -> Catalog:
        """The catalog as one process has it. Whatever a process asks after its end is not heard."""
        engine: Any = PlainEngine(_Line(_database(), process))
        return Catalog(engine)


class _Line:
    """A connection to the database of a world, as one process has it."""

    def __init__(self, database: sqlite3.Connection, process: Process) -> None:
        self._database = database
        self._process = process

    def cursor(self) -> sqlite3.Cursor:
        """Every statement begins with one."""
        if not self._process.is_alive:
            raise DeadError("database", self._process.name)
        return self._database.cursor()

    def commit(self) -> None:
        if not self._process.is_alive:
            raise DeadError("database", self._process.name)
        self._database.commit()

    def rollback(self) -> None:
        self._database.rollback()


@cache
def _database() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


@cache
def _empty() -> bytes:
    """A database with the catalog's tables and nothing in them."""
    bring_up_to_date(create_engine("sqlite://", creator=_database, poolclass=StaticPool))
    return _database().serialize()
