"""Files that arrived, and which table has loaded which of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    Select,
    and_,
    case,
    func,
    insert,
    or_,
    select,
    update,
)

from freshtide.catalog.refusals import Refusals
from freshtide.catalog.registering import note_other_contents, portions, write_arrivals, write_loaded
from freshtide.catalog.rows import arrival_of, transaction
from freshtide.catalog.schema import feed_columns, files, loads
from freshtide.core.arrivals import DATA, LOADABLE, Arrival, ArrivalState
from freshtide.core.feeds import Column
from freshtide.core.health import ArrivalTimes
from freshtide.core.loads import Promise

_LOADED = select(loads.c.file_id).where(loads.c.number.is_not(None))


class ArrivalLedger:
    """The arrivals of all feeds, one record per path."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.refusals = Refusals(engine)

    def register(self, file: Arrival, tables: Iterable[str]) -> Arrival:
        """Remember a file; where it can be loaded it becomes pending for the tables of its feed."""
        return self.register_all([(file, tuple(tables))])[0]

    def register_all(self, arrivals: Sequence[tuple[Arrival, tuple[str, ...]]]) -> list[Arrival]:
        """Remember files in one transaction; the ids of those that are new follow the order given.

        What was refused has no id: it is kept beside the record of its path, until the file comes again.
        """
        refused = [file for file, _ in arrivals if file.state is ArrivalState.REFUSED]
        admitted = [(file, tables) for file, tables in arrivals if file.state is not ArrivalState.REFUSED]
        with self._engine.begin() as connection:
            self.refusals.put(refused, within=connection)
            registered = write_arrivals(connection, admitted) if admitted else []
        return [*registered, *refused]

    def by_path(self, feed: str, path: str) -> Arrival | None:
        """The record of a path: what it was registered with, whatever was refused since."""
        return self.by_paths(feed, [path]).get(path)

    def by_paths(self, feed: str, paths: Sequence[str]) -> dict[str, Arrival]:
        """The record of each path; paths nobody has heard of are left out."""
        found: dict[str, Arrival] = {}
        for some in portions(paths):
            query = select(files).where(files.c.feed == feed, files.c.path.in_(some))
            found.update((file.position, file) for file in self._select(query))
        return found

    def contents(self, feed: str, hashes: Sequence[str]) -> dict[str, set[str]]:
        """Those of these hashes under which files with rows are loaded or to be loaded, with their paths.

        A file that a table has loaded counts even if it was put aside since.
        """
        found: dict[str, set[str]] = {}
        for some in portions(hashes):
            query = select(files.c.sha256, files.c.path).where(
                files.c.feed == feed,
                files.c.sha256.in_(some),
                or_(files.c.state.in_(DATA), files.c.id.in_(_LOADED)),
                files.c.state != ArrivalState.PUNCTUATION,
                files.c.rows.is_distinct_from(0),
            )
            with self._engine.connect() as connection:
                for row in connection.execute(query):
                    found.setdefault(row.sha256, set()).add(row.path)
        return found

    def orphaned_duplicates(self) -> list[Arrival]:
        """Of each content that was left out as known, and that no file stands for any more, the first file with it.

        The file that had it was corrected since, put aside, or left out by hand. What a table still holds of a content
        that was corrected stands for it until the table is rebuilt.
        """
        twin = files.alias()
        still_held = select(loads.c.file_id).where(loads.c.number.is_not(None), loads.c.sha256 == files.c.sha256)
        stands = select(twin.c.id).where(
            twin.c.feed == files.c.feed,
            twin.c.sha256 == files.c.sha256,
            or_(twin.c.state.in_(DATA), twin.c.id.in_(_LOADED)),
        )
        query = select(files).where(files.c.state == ArrivalState.DUPLICATE, ~stands.exists(), ~still_held.exists())
        first: dict[tuple[str, str], Arrival] = {}
        for file in self._select(query.order_by(files.c.id)):
            first.setdefault((file.feed, file.digest), file)
        return list(first.values())

    def loaded_paths(self, feed: str, paths: Sequence[str]) -> set[str]:
        """Those of these paths that some table has loaded."""
        found: set[str] = set()
        for some in portions(paths):
            query = select(files.c.path).where(files.c.feed == feed, files.c.path.in_(some), files.c.id.in_(_LOADED))
            with self._engine.connect() as connection:
                found.update(connection.scalars(query))
        return found

    def known_paths(self, feed: str) -> dict[str, tuple[int, int]]:
        """(size, modification time) that every path was last seen with, refused or not."""
        query = select(files.c.path, files.c.size, files.c.modified_ns).where(files.c.feed == feed)
        with self._engine.connect() as connection:
            known = {row.path: (row.size, row.modified_ns) for row in connection.execute(query)}
        return known | {file.position: (file.size, file.modified_ns) for file in self.refusals.all(feed)}

    def pending(self, table: str) -> list[Arrival]:
        """Files that the table has still to load."""
        query = (
            select(files)
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_(None), files.c.state.in_(LOADABLE))
            .order_by(files.c.id)
        )
        return self._select(query)

    def pending_first(self, table: str, *, upto: float, most: int) -> list[Arrival]:
        """As much of what is pending as decides over the next load of `most` files, however many there are.

        These are the first files due, by time stamp and path, all punctuation, and of the files left out the one that
        arrived first: punctuation that came after it has to wait for it.
        """
        waiting = (
            select(files)
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_(None))
        )
        data = waiting.where(files.c.state.in_(DATA))
        in_order = (files.c.timestamp.is_not(None), files.c.timestamp, files.c.path)
        due = or_(files.c.timestamp.is_(None), files.c.timestamp <= upto)
        first = self._select(data.where(due).order_by(*in_order).limit(most))
        others = data.where(files.c.id.not_in([file.id for file in first])).order_by(files.c.id).limit(1)
        punctuation = waiting.where(files.c.state == ArrivalState.PUNCTUATION)
        return [*first, *self._select(others), *self._select(punctuation.order_by(files.c.id))]

    def held_up(self, table: str, waiting: Sequence[Arrival]) -> dict[int, Promise]:
        """Of files that wait for a table, those before which it has loaded others that arrived later, by id.

        With what the files that arrived before each of them had promised, loaded or not.
        """
        last = select(loads.c.file_id).where(loads.c.table_name == table, loads.c.number.is_not(None))
        with self._engine.connect() as connection:
            newest = connection.scalar(last.order_by(loads.c.file_id.desc()).limit(1))
            held = [file for file in waiting if newest is not None and file.id < newest]
            if not held:
                return {}
            before = _over_earlier_files(held[0].feed, upto=max(file.id for file in held))
            found = {row.id: row for row in connection.execute(before)}
        return {file.id: Promise(data=found[file.id].data, punctuation=found[file.id].punctuation) for file in held}

    def pending_stamps(self, table: str, *, upto: float | None = None) -> set[float | None]:
        """The time stamps of what is pending, and None if something has no time stamp."""
        stamp = files.c.timestamp
        query = (
            select(stamp)
            .distinct()
            .join(loads, and_(loads.c.file_id == files.c.id, loads.c.table_name == table))
            .where(loads.c.number.is_(None), files.c.state.in_(LOADABLE))
        )
        if upto is not None:
            query = query.where(or_(stamp.is_(None), stamp <= upto))
        with self._engine.connect() as connection:
            return set(connection.execute(query).scalars())

    def pending_counts(self) -> dict[str, int]:
        query = (
            select(loads.c.table_name, func.count())
            .join(files, files.c.id == loads.c.file_id)
            .where(loads.c.number.is_(None), files.c.state.in_(LOADABLE))
            .group_by(loads.c.table_name)
        )
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def awaited(self) -> dict[str, str]:
        """By table the first file, in the order in which they are loaded, that it waits for because it is away."""
        query = (
            select(loads.c.table_name, files.c.path)
            .join(files, files.c.id == loads.c.file_id)
            .where(loads.c.number.is_(None), files.c.state == ArrivalState.AWAY)
            .order_by(files.c.timestamp.is_(None), files.c.timestamp.desc(), files.c.path.desc())
        )
        with self._engine.connect() as connection:
            return {row.table_name: row.path for row in connection.execute(query)}

    def loaded(self, table: str) -> list[Arrival]:
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
            .where(loads.c.number.is_not(None), files.c.state != ArrivalState.PUNCTUATION)
        )
        with self._engine.connect() as connection:
            count, rows = connection.execute(query).one()
            return int(count), int(rows)

    def mark_loaded(
        self,
        table: str,
        file_ids: Iterable[int],
        number: int,
        *,
        contents: Mapping[int, str] | None = None,
        within: Connection | None = None,
    ) -> None:
        """The table has loaded these files; `contents` are the hashes of what it has loaded, by file."""
        with transaction(self._engine, within) as connection:
            for some in portions(list(file_ids)):
                write_loaded(connection, table, some, number)
            note_other_contents(connection, table, contents or {})

    def outdated_tables(self) -> set[str]:
        """Tables that have loaded a file whose content was corrected since."""
        query = select(loads.c.table_name).distinct().where(loads.c.sha256.is_not(None), loads.c.number.is_not(None))
        with self._engine.connect() as connection:
            return set(connection.scalars(query))

    def last_load(self, table: str) -> int:
        """The number of the last update that is booked to have loaded something into the table; 0: there is none."""
        with self._engine.connect() as connection:
            return connection.scalar(select(func.max(loads.c.number)).where(loads.c.table_name == table)) or 0

    def unload_after(self, table: str, number: int) -> None:
        """Make pending again what updates beyond a number had loaded."""
        with self._engine.begin() as connection:
            connection.execute(
                update(loads)
                .where(loads.c.table_name == table, loads.c.number > number)
                .values(number=None, sha256=None)
            )

    def adopt(self, table: str, feed: str) -> None:
        """Make every file of a feed pending for a table that has not heard of it."""
        known = select(loads.c.file_id).where(loads.c.table_name == table)
        missing = select(files.c.id).where(files.c.feed == feed, files.c.state.in_(LOADABLE), files.c.id.not_in(known))
        with self._engine.begin() as connection:
            ids = [row.id for row in connection.execute(missing)]
            if ids:
                connection.execute(
                    insert(loads),
                    [{"table_name": table, "file_id": file_id, "number": None} for file_id in ids],
                )

    def set_state(self, file_id: int, state: ArrivalState, reason: str | None = None) -> None:
        with self._engine.begin() as connection:
            connection.execute(update(files).where(files.c.id == file_id).values(state=state, reason=reason))

    def note_standing(self, file_ids: Sequence[int], state: ArrivalState, reason: str | None) -> None:
        """How files that are to be loaded were found, unless somebody has said something else about them meanwhile."""
        for some in portions(file_ids):
            with self._engine.begin() as connection:
                waiting = (files.c.id.in_(some), files.c.state.in_(DATA))
                connection.execute(update(files).where(*waiting).values(state=state, reason=reason))

    def in_state(self, *states: ArrivalState, feed: str | None = None) -> list[Arrival]:
        query = select(files).where(files.c.state.in_(states)).order_by(files.c.id)
        found = self._select(query if feed is None else query.where(files.c.feed == feed))
        return found + (self.refusals.all(feed) if ArrivalState.REFUSED in states else [])

    def latest(self, feed: str, count: int) -> list[Arrival]:
        """The files of a feed that came last and could be loaded, in the order of their arrival."""
        query = select(files).where(files.c.feed == feed, files.c.state.in_(LOADABLE)).order_by(files.c.id.desc())
        return self._select(query.limit(count))[::-1]

    def times(self, feed: str, count: int) -> list[ArrivalTimes]:
        """When the data files of a feed that came last arrived and how they are stamped, in the order of arrival."""
        query = select(files.c.arrived_at, files.c.timestamp).where(files.c.feed == feed, files.c.state.in_(DATA))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(files.c.id.desc()).limit(count)).all()
        return [ArrivalTimes(at=row.arrived_at, timestamp=row.timestamp) for row in reversed(rows)]

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
            found.setdefault(feed, {})[ArrivalState.REFUSED] = count
        return found

    def announced(self, timestamp: float | None, feed: str) -> float:
        """The time stamp that the scheduler is told of a file.

        Rows that name no time take the table nowhere; they count as the newest to be loaded at once.
        """
        return (self.latest_timestamp(feed) or 0.0) if timestamp is None else timestamp

    def latest_timestamp(self, feed: str, *, arrived_by: float | None = None) -> float | None:
        """The largest time stamp that any loadable file of the feed carries, or any that had come by a moment."""
        query = select(func.max(files.c.timestamp)).where(files.c.feed == feed, files.c.state.in_(LOADABLE))
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

    def _select(self, query: Any) -> list[Arrival]:
        with self._engine.connect() as connection:
            return [arrival_of(row) for row in connection.execute(query).mappings()]


def _over_earlier_files(feed: str, *, upto: int) -> Select[Any]:
    """For each file of a feed up to one: the newest time stamps of data and punctuation that arrived before it."""

    def newest(states: Sequence[ArrivalState]) -> Any:
        stamp = case((files.c.state.in_(states), files.c.timestamp))
        return func.max(stamp).over(order_by=files.c.id, rows=(None, -1))

    query = select(
        files.c.id,
        newest(DATA).label("data"),
        newest([ArrivalState.PUNCTUATION]).label("punctuation"),
    )
    return query.where(files.c.feed == feed, files.c.id <= upto)
