"""Files that arrived, and which table has loaded which of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from freshtide.catalog.refusals import Refusals
from freshtide.catalog.rows import file_of, values_of
from freshtide.catalog.schema import feed_columns, files, loads, refusals
from freshtide.catalog.transactions import transaction
from freshtide.core.files import FeedFile, FileState
from freshtide.core.health import Arrival
from freshtide.core.tables import Column

_LOADABLE = (FileState.READY, FileState.PUNCTUATION)
# Databases limit how many values a statement may name.
_PORTION = 1_000
ValueT = TypeVar("ValueT")


class FileLedger:
    """The arrivals of all feeds, one record per path."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.refusals = Refusals(engine)

    def register(self, file: FeedFile, tables: Iterable[str]) -> FeedFile:
        """Remember a file; where it can be loaded it becomes pending for the tables of its feed."""
        return self.register_all([(file, tuple(tables))])[0]

    def register_all(self, arrivals: Sequence[tuple[FeedFile, tuple[str, ...]]]) -> list[FeedFile]:
        """Remember files in one transaction; their ids follow the order given.

        What was refused has no id: it is kept beside the record of its path.
        """
        refused = [file for file, _ in arrivals if file.state is FileState.REFUSED]
        admitted = [(file, tables) for file, tables in arrivals if file.state is not FileState.REFUSED]
        with self._engine.begin() as connection:
            self.refusals.put(refused, within=connection)
            registered = self._admit(admitted, connection) if admitted else []
        return [*registered, *refused]

    def _admit(self, arrivals: Sequence[tuple[FeedFile, tuple[str, ...]]], connection: Connection) -> list[FeedFile]:
        _drop_old_selves(connection, [file for file, _ in arrivals])
        ids = connection.scalars(
            insert(files).returning(files.c.id, sort_by_parameter_order=True),
            [values_of(file, files) for file, _ in arrivals],
        ).all()
        registered = [replace(file, id=number) for (file, _), number in zip(arrivals, ids, strict=True)]
        pending = [
            {"table_name": table, "file_id": file.id, "number": None}
            for file, (_, tables) in zip(registered, arrivals, strict=True)
            if file.state in _LOADABLE
            for table in tables
        ]
        if pending:
            connection.execute(insert(loads), pending)
        return registered

    def correct(self, file_id: int, file: FeedFile) -> None:
        """Let a record say what a file has turned out to be; which tables have loaded it stays as it is."""
        with self._engine.begin() as connection:
            connection.execute(update(files).where(files.c.id == file_id).values(values_of(file, files)))

    def by_path(self, feed: str, path: str) -> FeedFile | None:
        """The record of a path: what it was registered with, whatever was refused since."""
        return self.by_paths(feed, [path]).get(path)

    def by_paths(self, feed: str, paths: Sequence[str]) -> dict[str, FeedFile]:
        """The record of each path; paths nobody has heard of are left out."""
        found: dict[str, FeedFile] = {}
        for some in _portions(paths):
            query = select(files).where(files.c.feed == feed, files.c.path.in_(some))
            found.update((file.path, file) for file in self._select(query))
        return found

    def contents(self, feed: str, hashes: Sequence[str]) -> set[str]:
        """Those of these hashes under which a file with rows is loaded or to be loaded."""
        found: set[str] = set()
        for some in _portions(hashes):
            query = select(files.c.sha256).where(
                files.c.feed == feed,
                files.c.sha256.in_(some),
                files.c.state == FileState.READY,
                files.c.rows.is_distinct_from(0),
            )
            with self._engine.connect() as connection:
                found.update(connection.scalars(query))
        return found

    def known_paths(self, feed: str) -> dict[str, tuple[int, int]]:
        """(size, modification time) that every path was last seen with, refused or not."""
        query = select(files.c.path, files.c.size, files.c.modified_ns).where(files.c.feed == feed)
        with self._engine.connect() as connection:
            known = {row.path: (row.size, row.modified_ns) for row in connection.execute(query)}
        return known | {file.path: (file.size, file.modified_ns) for file in self.refusals.all(feed)}

    def pending(self, table: str) -> list[FeedFile]:
        """Files that the table has still to load."""
        query = (
            select(files)
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_(None), files.c.state.in_(_LOADABLE))
            .order_by(files.c.id)
        )
        return self._select(query)

    def pending_first(self, table: str, *, upto: float, most: int) -> list[FeedFile]:
        """As much of what is pending as decides over the next load of `most` files, however many there are.

        These are the first files due, by time stamp and path, all punctuation, and of the files left out the one that
        arrived first: punctuation that came after it has to wait for it.
        """
        waiting = (
            select(files)
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_(None))
        )
        data = waiting.where(files.c.state == FileState.READY)
        in_order = (files.c.timestamp.is_not(None), files.c.timestamp, files.c.path)
        due = or_(files.c.timestamp.is_(None), files.c.timestamp <= upto)
        first = self._select(data.where(due).order_by(*in_order).limit(most))
        others = data.where(files.c.id.not_in([file.id for file in first])).order_by(files.c.id).limit(1)
        punctuation = waiting.where(files.c.state == FileState.PUNCTUATION)
        return [*first, *self._select(others), *self._select(punctuation.order_by(files.c.id))]

    def pending_stamps(self, table: str, *, upto: float | None = None) -> set[float | None]:
        """The time stamps of what is pending, and None if something has no time stamp."""
        stamp = files.c.timestamp
        query = (
            select(stamp)
            .distinct()
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_(None), files.c.state.in_(_LOADABLE))
        )
        if upto is not None:
            query = query.where(or_(stamp.is_(None), stamp <= upto))
        with self._engine.connect() as connection:
            return set(connection.execute(query).scalars())

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
            for some in _portions(list(file_ids)):
                connection.execute(
                    update(loads).where(loads.c.table_name == table, loads.c.file_id.in_(some)).values(number=number)
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
        found = self._select(query if feed is None else query.where(files.c.feed == feed))
        return found + (self.refusals.all(feed) if FileState.REFUSED in states else [])

    def latest(self, feed: str, count: int) -> list[FeedFile]:
        """The files of a feed that came last and could be loaded, in the order of their arrival."""
        query = select(files).where(files.c.feed == feed, files.c.state.in_(_LOADABLE)).order_by(files.c.id.desc())
        return self._select(query.limit(count))[::-1]

    def arrivals(self, feed: str, count: int) -> list[Arrival]:
        """When the data files of a feed that came last arrived and how they are stamped, in the order of arrival."""
        query = select(files.c.arrived_at, files.c.timestamp).where(
            files.c.feed == feed, files.c.state == FileState.READY
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(files.c.id.desc()).limit(count)).all()
        return [Arrival(at=row.arrived_at, timestamp=row.timestamp) for row in reversed(rows)]

    def last_arrival(self) -> float | None:
        """When the file that was registered last arrived."""
        with self._engine.connect() as connection:
            return connection.scalar(select(files.c.arrived_at).order_by(files.c.id.desc()).limit(1))

    def counts(self) -> dict[str, dict[str, int]]:
        """Number of files per feed and state."""
        query = select(files.c.feed, files.c.state, func.count()).group_by(files.c.feed, files.c.state)
        found: dict[str, dict[str, int]] = {}
        with self._engine.connect() as connection:
            for feed, state, count in connection.execute(query):
                found.setdefault(feed, {})[state] = count
        for feed, count in self.refusals.counts().items():
            found.setdefault(feed, {})[FileState.REFUSED] = count
        return found

    def announced(self, timestamp: float | None, feed: str) -> float:
        """The time stamp that the scheduler is told of a file.

        Rows that name no time take the table nowhere; they count as the newest to be loaded at once.
        """
        return (self.latest_timestamp(feed) or 0.0) if timestamp is None else timestamp

    def latest_timestamp(self, feed: str, *, arrived_by: float | None = None) -> float | None:
        """The largest time stamp that any loadable file of the feed carries, or any that had come by a moment."""
        query = select(func.max(files.c.timestamp)).where(files.c.feed == feed, files.c.state.in_(_LOADABLE))
        if arrived_by is not None:
            query = query.where(files.c.arrived_at <= arrived_by)
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
            return [file_of(row) for row in connection.execute(query).mappings()]


def _drop_old_selves(connection: Connection, arrived: Sequence[FeedFile]) -> None:
    """A quarantined file that comes again, mended, takes the place of its old self."""
    for feed in {file.feed for file in arrived}:
        for some in _portions([file.path for file in arrived if file.feed == feed]):
            query = select(files.c.id).where(
                files.c.feed == feed, files.c.path.in_(some), files.c.state == FileState.QUARANTINED
            )
            old = connection.scalars(query).all()
            if old:
                connection.execute(delete(loads).where(loads.c.file_id.in_(old)))
                connection.execute(delete(files).where(files.c.id.in_(old)))
                connection.execute(delete(refusals).where(refusals.c.feed == feed, refusals.c.path.in_(some)))


def _portions(values: Sequence[ValueT]) -> Iterator[Sequence[ValueT]]:
    return (values[start : start + _PORTION] for start in range(0, len(values), _PORTION))
