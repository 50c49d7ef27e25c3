"""The catalog's database in memory: what was committed is there after a crash, and nothing else."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import StaticPool

from faults.disk import DeadError
from faults.turns import Process
from freshtide.catalog import Catalog
from freshtide.catalog.upgrades import bring_up_to_date


class Books:
    """One database for all processes of a world; each world begins with an empty one."""

    def __init__(self) -> None:
        connection, _ = _shared()
        connection.deserialize(_empty())

    def catalog(self, process: Process) -> Catalog:
        """The catalog as one process has it. Whatever a process asks after its end is not heard."""
        _, shared = _shared()
        # Statements are compiled once and for all worlds: only the events are those of this process.
        engine = shared.execution_options(process=process.name)

        def alive(*_statement: Any) -> None:
            if not process.is_alive:
                raise DeadError("database", process.name)

        event.listen(engine, "before_cursor_execute", alive)
        return Catalog(engine)


@cache
def _shared() -> tuple[sqlite3.Connection, Engine]:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    return connection, create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)


@cache
def _empty() -> bytes:
    """A database with the catalog's tables and nothing in them."""
    connection, engine = _shared()
    bring_up_to_date(engine)
    return connection.serialize()
