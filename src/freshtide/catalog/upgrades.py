"""Bringing a database to the schema of today: a new one, and one that an earlier Freshtide has made."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Connection, Engine, Index, delete, func, insert, inspect, select, text
from sqlalchemy.engine.reflection import Inspector
from sqlalchemy.schema import CreateColumn, CreateIndex

from freshtide.catalog.database import Database
from freshtide.catalog.refusals import Refusals
from freshtide.catalog.rows import arrival_of
from freshtide.catalog.schema import files, loads, metadata
from freshtide.core.arrivals import ArrivalState

# Any number will do that no other program takes for a lock on the same database.
_LOCK = 0x46726573687469
_OLD_INDEXES = ("files_by_path", "updates_by_status")


def bring_up_to_date(engine: Engine) -> None:
    """Create what is missing. Of several processes that come at once one does it, and the others find it done."""
    if _is_complete(inspect(engine)):
        return
    with engine.begin() as connection:
        _wait_for_turn(connection)
        metadata.create_all(connection)
        for column in _missing_columns(inspect(connection)):
            _add(column, connection)
        for index in _missing_indexes(inspect(connection)):
            if index.name == "files_once_by_path":
                _keep_one_record_per_path(connection)
            connection.execute(CreateIndex(index))
        for name in _OLD_INDEXES:
            connection.execute(text(f"DROP INDEX IF EXISTS {name}"))


def _is_complete(found: Inspector) -> bool:
    there = set(metadata.tables) <= set(found.get_table_names())
    return there and not _missing_indexes(found) and not _missing_columns(found)


def _missing_columns(found: Inspector) -> list[Column[Any]]:
    there = {(key[1], column["name"]) for key, columns in found.get_multi_columns().items() for column in columns}
    return [
        column
        for table in metadata.tables.values()
        for column in table.columns
        if (table.name, column.name) not in there
    ]


def _add(column: Column[Any], connection: Connection) -> None:
    """It can be null, so that the rows that are there stay valid."""
    table = connection.dialect.identifier_preparer.format_table(column.table)
    declared = CreateColumn(column).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {declared}")


def _missing_indexes(found: Inspector) -> list[Index]:
    there = {index["name"] for indexes in found.get_multi_indexes().values() for index in indexes}
    return [index for table in metadata.tables.values() for index in table.indexes if index.name not in there]


def _wait_for_turn(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def _keep_one_record_per_path(connection: Connection) -> None:
    """Earlier versions kept refused content as files of their own, and two runs at once could register a file twice."""
    refused = select(files).where(files.c.state == ArrivalState.REFUSED).order_by(files.c.id)
    Refusals(Database(connection.engine)).put(
        [arrival_of(row) for row in connection.execute(refused).mappings().all()], within=connection
    )
    connection.execute(delete(files).where(files.c.state == ArrivalState.REFUSED))
    first = func.min(files.c.id)
    doubled = select(files.c.feed, files.c.path, first).group_by(files.c.feed, files.c.path).having(func.count() > 1)
    for feed, path, kept in connection.execute(doubled).all():
        same = (files.c.feed == feed, files.c.path == path)
        ids = connection.scalars(select(files.c.id).where(*same)).all()
        # What one of them was loaded with counts for the one that is left: nothing is loaded once more.
        found = connection.execute(
            select(loads.c.table_name, func.max(loads.c.number))
            .where(loads.c.file_id.in_(ids))
            .group_by(loads.c.table_name)
        ).all()
        connection.execute(delete(loads).where(loads.c.file_id.in_(ids)))
        for table, number in found:
            connection.execute(insert(loads).values(table_name=table, file_id=kept, number=number))
        connection.execute(delete(files).where(*same, files.c.id != kept))
