"""Files that arrived, and which table has loaded which of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, and_, delete, func, insert, select, update

from freshtide.catalog.schema import feed_columns, files, loads
from freshtide.catalog.transactions import transaction
from freshtide.core.files import FeedFile, FileState
from freshtide.core.tables import Column

_LOADABLE = (FileState.READY, FileState.PUNCTUATION)


class FileLedger:
    """The arrivals of all feeds."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register(self, file: FeedFile, tables: Iterable[str]) -> FeedFile:
        """Remember a file; where it can be loaded it becomes pending for the tables of its feed."""
        return self.register_all([(file, tuple(tables))])[0]

    def register_all(self, arrivals: Sequence[tuple[FeedFile, tuple[str, ...]]]) -> list[FeedFile]:
        """Remember files in one transaction; their ids follow the order given."""
        registered = []
        with self._engine.begin() as connection:
            for file, tables in arrivals:
                if file.state is not FileState.REFUSED:
                    # A quarantined file that comes again, mended, takes the place of its old self.
                    old = and_(
                        files.c.feed == file.feed,
                        files.c.path == file.path,
                        files.c.state == FileState.QUARANTINED,
                    )
                    connection.execute(delete(loads).where(loads.c.file_id.in_(select(files.c.id).where(old))))
                    connection.execute(delete(files).where(old))
                result = connection.execute(insert(files).values(_values(file)))
                assert result.inserted_primary_key is not None
                stored = replace(file, id=result.inserted_primary_key[0])
                if stored.state in _LOADABLE:
                    for table in tables:
                        connection.execute(insert(loads).values(table_name=table, file_id=stored.id, number=None))
                registered.append(stored)
        return registered

    def by_path(self, feed: str, path: str) -> FeedFile | None:
        """The newest record of a path that was not refused."""
        query = (
            select(files)
            .where(files.c.feed == feed, files.c.path == path, files.c.state != FileState.REFUSED)
            .order_by(files.c.id.desc())
            .limit(1)
        )
        return next(iter(self._select(query)), None)

    def has_content(self, feed: str, sha256: str) -> bool:
        """Whether a file with rows and this content is loaded or to be loaded."""
        query = select(files.c.id).where(
            files.c.feed == feed,
            files.c.sha256 == sha256,
            files.c.state == FileState.READY,
            files.c.rows.is_distinct_from(0),
        )
        with self._engine.connect() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def known_paths(self, feed: str) -> dict[str, tuple[int, int]]:
        """(size, modification time) of every path registered, the newest record of each."""
        query = select(files.c.path, files.c.size, files.c.modified_ns).where(files.c.feed == feed).order_by(files.c.id)
        with self._engine.connect() as connection:
            return {row.path: (row.size, row.modified_ns) for row in connection.execute(query)}

    def pending(self, table: str) -> list[FeedFile]:
        """Files that the table has still to load."""
        query = (
            select(files)
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_(None), files.c.state.in_(_LOADABLE))
            .order_by(files.c.id)
        )
        return self._select(query)

    def pending_counts(self) -> dict[str, int]:
        query = (
            select(loads.c.table_name, func.count())
            .join(files, files.c.id == loads.c.file_id)
            .where(loads.c.number.is_(None), files.c.state.in_(_LOADABLE))
            .group_by(loads.c.table_name)
        )
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def loaded(self, table: str) -> list[FeedFile]:
        """Files that the table has loaded, in the order of their arrival."""
        query = (
            select(files)
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_not(None))
            .order_by(files.c.id)
        )
        return self._select(query)

    def expected_rows(self, table: str) -> tuple[int, int]:
        """(files, rows counted on arrival) over the files that the table has loaded."""
        query = (
            select(func.count(), func.coalesce(func.sum(files.c.rows), 0))
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_not(None), files.c.state != FileState.PUNCTUATION)
        )
        with self._engine.connect() as connection:
            count, rows = connection.execute(query).one()
            return int(count), int(rows)

    def mark_loaded(
        self, table: str, file_ids: Iterable[int], number: int, *, within: Connection | None = None
    ) -> None:
        with transaction(self._engine, within) as connection:
            for file_id in file_ids:
                connection.execute(
                    update(loads).where(loads.c.table_name == table, loads.c.file_id == file_id).values(number=number)
                )

    def unload_after(self, table: str, number: int) -> None:
        """Make pending again what updates beyond a number had loaded."""
        with self._engine.begin() as connection:
            connection.execute(
                update(loads).where(loads.c.table_name == table, loads.c.number > number).values(number=None)
            )

    def adopt(self, table: str, feed: str) -> None:
        """Make every file of a feed pending for a table that has not heard of it."""
        known = select(loads.c.file_id).where(loads.c.table_name == table)
        missing = select(files.c.id).where(files.c.feed == feed, files.c.state.in_(_LOADABLE), files.c.id.not_in(known))
        with self._engine.begin() as connection:
            ids = [row.id for row in connection.execute(missing)]
            if ids:
                connection.execute(
                    insert(loads),
                    [{"table_name": table, "file_id": file_id, "number": None} for file_id in ids],
                )

    def set_state(self, file_id: int, state: FileState, reason: str | None = None) -> None:
        with self._engine.begin() as connection:
            connection.execute(update(files).where(files.c.id == file_id).values(state=state, reason=reason))

    def in_state(self, *states: FileState, feed: str | None = None) -> list[FeedFile]:
        query = select(files).where(files.c.state.in_(states)).order_by(files.c.id)
        return self._select(query if feed is None else query.where(files.c.feed == feed))

    def latest(self, feed: str, count: int) -> list[FeedFile]:
        """The files of a feed that came last and could be loaded, in the order of their arrival."""
        query = select(files).where(files.c.feed == feed, files.c.state.in_(_LOADABLE)).order_by(files.c.id.desc())
        return self._select(query.limit(count))[::-1]

    def counts(self) -> dict[str, dict[str, int]]:
        """Number of files per feed and state."""
        query = select(files.c.feed, files.c.state, func.count()).group_by(files.c.feed, files.c.state)
        found: dict[str, dict[str, int]] = {}
        with self._engine.connect() as connection:
            for feed, state, count in connection.execute(query):
                found.setdefault(feed, {})[state] = count
        return found

    def latest_timestamp(self, feed: str) -> float | None:
        """The largest time stamp that any loadable file of the feed carries."""
        query = select(func.max(files.c.timestamp)).where(files.c.feed == feed, files.c.state.in_(_LOADABLE))
        with self._engine.connect() as connection:
            found: float | None = connection.execute(query).scalar()
            return found

    def extra_columns(self, feed: str) -> tuple[Column, ...]:
        """Columns that the feed has gained beyond its declaration, in order of appearance."""
        query = select(feed_columns).where(feed_columns.c.feed == feed).order_by(feed_columns.c.position)
        with self._engine.connect() as connection:
            return tuple(Column(name=row.name, type=row.type) for row in connection.execute(query))

    def add_columns(self, feed: str, columns: Iterable[Column]) -> None:
        known = self.extra_columns(feed)
        names = {column.name for column in known}
        with self._engine.begin() as connection:
            for position, column in enumerate((c for c in columns if c.name not in names), start=len(known)):
                connection.execute(
                    insert(feed_columns).values(feed=feed, name=column.name, type=column.type, position=position)
                )

    def _select(self, query: Any) -> list[FeedFile]:
        with self._engine.connect() as connection:
            return [_file(row) for row in connection.execute(query).mappings()]


def _values(file: FeedFile) -> dict[str, Any]:
    return {
        "feed": file.feed,
        "path": file.path,
        "sha256": file.sha256,
        "size": file.size,
        "modified_ns": file.modified_ns,
        "arrived_at": file.arrived_at,
        "state": file.state,
        "timestamp": file.timestamp,
        "rows": file.rows,
        "columns": list(file.columns) if file.columns is not None else None,
        "reason": file.reason,
    }


def _file(row: RowMapping) -> FeedFile:
    return FeedFile(
        id=row["id"],
        feed=row["feed"],
        path=row["path"],
        sha256=row["sha256"],
        size=row["size"],
        modified_ns=row["modified_ns"],
        arrived_at=row["arrived_at"],
        state=FileState(row["state"]),
        timestamp=row["timestamp"],
        rows=row["rows"],
        columns=tuple(row["columns"]) if row["columns"] is not None else None,
        reason=row["reason"],
    )
