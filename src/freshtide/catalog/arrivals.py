"""Files that arrived, and which table has loaded which of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from freshtide.catalog import questions
from freshtide.catalog.database import Database
from freshtide.catalog.refusals import Refusals
from freshtide.catalog.registering import note_other_contents, portions, write_arrivals, write_loaded
from freshtide.catalog.rows import arrival_of
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Column
from freshtide.core.health import ArrivalTimes
from freshtide.core.loads import Promise


class ArrivalLedger:
    """The arrivals of all feeds, one record per path."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.refusals = Refusals(database)

    def register(self, file: Arrival, tables: Iterable[str]) -> Arrival:
        """Remember a file; where it can be loaded it becomes pending for the tables of its feed."""
        return self.register_all([(file, tuple(tables))])[0]

    def register_all(self, arrivals: Sequence[tuple[Arrival, tuple[str, ...]]]) -> list[Arrival]:
        """Remember files in one transaction; the ids of those that are new follow the order given.

        What was refused has no id: it is kept beside the record of its path, until the file comes again.
        """
        refused = [file for file, _ in arrivals if file.state is ArrivalState.REFUSED]
        admitted = [(file, tables) for file, tables in arrivals if file.state is not ArrivalState.REFUSED]
        with self._database.writing() as connection:
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
            found.update((file.position, file) for file in self._select(questions.BY_PATHS, feed=feed, paths=some))
        return found

    def contents(self, feed: str, hashes: Sequence[str]) -> dict[str, set[str]]:
        """Those of these hashes under which files with rows are loaded or to be loaded, with their paths.

        A file that a table has loaded counts even if it was put aside since.
        """
        found: dict[str, set[str]] = {}
        for some in portions(hashes):
            with self._database.reading() as connection:
                for row in connection.execute(questions.CONTENTS, {"feed": feed, "hashes": some}):
                    found.setdefault(row.sha256, set()).add(row.path)
        return found

    def orphaned_duplicates(self) -> list[Arrival]:
        """Of each content that was left out as known, and that no file stands for any more, the first file with it.

        The file that had it was corrected since, put aside, or left out by hand. What a table still holds of a content
        that was corrected stands for it until the table is rebuilt.
        """
        first: dict[tuple[str, str], Arrival] = {}
        for file in self._select(questions.ORPHANED_DUPLICATES):
            first.setdefault((file.feed, file.digest), file)
        return list(first.values())

    def loaded_paths(self, feed: str, paths: Sequence[str]) -> set[str]:
        """Those of these paths that some table has loaded."""
        found: set[str] = set()
        for some in portions(paths):
            with self._database.reading() as connection:
                found.update(connection.scalars(questions.LOADED_PATHS, {"feed": feed, "paths": some}))
        return found

    def known_paths(self, feed: str) -> dict[str, tuple[int, int]]:
        """(size, modification time) that every path was last seen with, refused or not.

        Without those whose content has to come back: that can lie there under any time.
        """
        with self._database.reading() as connection:
            rows = connection.execute(questions.KNOWN_PATHS, {"feed": feed})
            known = {path: (size, modified_ns) for path, size, modified_ns in rows}
        return known | {file.position: (file.size, file.modified_ns) for file in self.refusals.all(feed)}

    def pending(self, table: str) -> list[Arrival]:
        """Files that the table has still to load."""
        return self._select(questions.PENDING, table=table)

    def pending_first(self, table: str, *, upto: float, most: int) -> list[Arrival]:
        """As much of what is pending as decides over the next load of `most` files, however many there are.

        These are the first files due, by time stamp and path, all punctuation, and of the files left out the one that
        arrived first: punctuation that came after it has to wait for it.
        """
        first = self._select(questions.FIRST_DUE, table=table, upto=upto, most=most)
        others = questions.FIRST_OTHER_AND_PUNCTUATION
        return first + self._select(others, table=table, ids=[file.id for file in first])

    def held_up(self, table: str, waiting: Sequence[Arrival]) -> dict[int, Promise]:
        """Of files that wait for a table, those before which it has loaded others that arrived later, by id.

        With what the files that arrived before each of them had promised, loaded or not.
        """
        with self._database.reading() as connection:
            newest = connection.scalar(questions.NEWEST_LOADED, {"table": table})
            held = [file for file in waiting if newest is not None and file.id < newest]
            if not held:
                return {}
            upto = {"feed": held[0].feed, "newest": max(file.id for file in held)}
            found = {row.id: row for row in connection.execute(questions.OVER_EARLIER_FILES, upto)}
        return {file.id: Promise(data=found[file.id].data, punctuation=found[file.id].punctuation) for file in held}

    def pending_stamps(self, table: str, *, upto: float | None = None) -> set[float | None]:
        """The time stamps of what is pending, and None if something has no time stamp."""
        with self._database.reading() as connection:
            if upto is None:
                return set(connection.scalars(questions.PENDING_STAMPS, {"table": table}))
            return set(connection.scalars(questions.PENDING_STAMPS_UPTO, {"table": table, "upto": upto}))

    def pending_counts(self) -> dict[str, int]:
        with self._database.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(questions.PENDING_COUNTS)}

    def awaited(self) -> dict[str, str]:
        """By table the first file, in the order in which they are loaded, that it waits for because it is away."""
        with self._database.reading() as connection:
            return {row.table_name: row.path for row in connection.execute(questions.AWAITED)}

    def loaded(self, table: str) -> list[Arrival]:
        """Files that the table has loaded, in the order of their arrival."""
        return self._select(questions.LOADED, table=table)

    def loaded_by(self, table: str) -> dict[int, int]:
        """By the ids of files that the table has loaded: the number of the update that did."""
        with self._database.reading() as connection:
            return {row.file_id: row.number for row in connection.execute(questions.LOADED_BY, {"table": table})}

    def expected_rows(self, table: str) -> tuple[int, int]:
        """(files, rows counted on arrival) over the files that the table has loaded."""
        with self._database.reading() as connection:
            count, rows = connection.execute(questions.EXPECTED_ROWS, {"table": table}).one()
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
        with self._database.writing(within) as connection:
            for some in portions(list(file_ids)):
                write_loaded(connection, table, some, number)
            note_other_contents(connection, table, contents or {})

    def outdated_tables(self) -> set[str]:
        """Tables that have loaded a file whose content was corrected since."""
        with self._database.reading() as connection:
            return set(connection.scalars(questions.OUTDATED_TABLES))

    def last_load(self, table: str) -> int:
        """The number of the last update that is booked to have loaded something into the table; 0: there is none."""
        with self._database.reading() as connection:
            return connection.scalar(questions.LAST_LOAD, {"table": table}) or 0

    def unload_after(self, table: str, number: int) -> None:
        """Make pending again what updates beyond a number had loaded."""
        with self._database.writing() as connection:
            connection.execute(questions.UNLOAD_AFTER, {"table": table, "last": number})

    def adopt(self, table: str, feed: str) -> None:
        """Make every file of a feed pending for a table that has not heard of it."""
        with self._database.writing() as connection:
            ids = connection.scalars(questions.UNHEARD_OF, {"table": table, "feed": feed}).all()
            if ids:
                rows = [{"table_name": table, "file_id": file_id, "number": None} for file_id in ids]
                connection.execute(questions.ADD_LOADS, rows)

    def set_state(self, file_id: int, state: ArrivalState, reason: str | None = None) -> None:
        with self._database.writing() as connection:
            connection.execute(questions.SET_STATE, {"file_id": file_id, "state": state, "reason": reason})

    def note_standing(self, file_ids: Sequence[int], state: ArrivalState, reason: str | None) -> None:
        """How files that are to be loaded were found, unless somebody has said something else about them meanwhile."""
        for some in portions(file_ids):
            with self._database.writing() as connection:
                connection.execute(questions.NOTE_STANDING, {"ids": some, "state": state, "reason": reason})

    def restamp(self, stamps: Mapping[int, float | None]) -> None:
        """Give files, by id, other time stamps."""
        if stamps:
            with self._database.writing() as connection:
                rows = [{"its_id": file_id, "stamp": stamp} for file_id, stamp in stamps.items()]
                connection.execute(questions.RESTAMP, rows)

    def in_state(self, *states: ArrivalState, feed: str | None = None) -> list[Arrival]:
        if feed is None:
            found = self._select(questions.IN_STATE, states=states)
        else:
            found = self._select(questions.OF_FEED_IN_STATE, states=states, feed=feed)
        return found + (self.refusals.all(feed) if ArrivalState.REFUSED in states else [])

    def latest(self, feed: str, count: int) -> list[Arrival]:
        """The files of a feed that came last and could be loaded, in the order of their arrival."""
        return self._select(questions.LATEST, feed=feed, most=count)[::-1]

    def times(self, feed: str, count: int) -> list[ArrivalTimes]:
        """When the data files of a feed that came last arrived and how they are stamped, in the order of arrival."""
        with self._database.reading() as connection:
            rows = connection.execute(questions.TIMES, {"feed": feed, "most": count}).all()
        return [ArrivalTimes(at=row.arrived_at, timestamp=row.timestamp) for row in reversed(rows)]

    def last_arrival(self) -> float | None:
        """When the file that was registered last arrived."""
        with self._database.reading() as connection:
            return connection.scalar(questions.LAST_ARRIVAL)

    def counts(self) -> dict[str, dict[str, int]]:
        """Number of files per feed and state."""
        found: dict[str, dict[str, int]] = {}
        with self._database.reading() as connection:
            for feed, state, count in connection.execute(questions.COUNTS):
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
        found: float | None
        with self._database.reading() as connection:
            if arrived_by is None:
                found = connection.scalar(questions.LATEST_TIMESTAMP, {"feed": feed})
            else:
                found = connection.scalar(questions.LATEST_TIMESTAMP_BY, {"feed": feed, "arrived_by": arrived_by})
        return found

    def extra_columns(self, feed: str) -> tuple[Column, ...]:
        """Columns that the feed has gained beyond its declaration, in order of appearance."""
        with self._database.reading() as connection:
            rows = connection.execute(questions.EXTRA_COLUMNS, {"feed": feed})
            return tuple(Column(name=row.name, type=row.type) for row in rows)

    def add_columns(self, feed: str, columns: Iterable[Column]) -> None:
        known = self.extra_columns(feed)
        names = {column.name for column in known}
        with self._database.writing() as connection:
            for position, column in enumerate((c for c in columns if c.name not in names), start=len(known)):
                values = {"feed": feed, "name": column.name, "type": column.type, "position": position}
                connection.execute(questions.ADD_COLUMN, values)

    def _select(self, question: Any, **asked: object) -> list[Arrival]:
        with self._database.reading() as connection:
            return [arrival_of(row) for row in connection.execute(question, asked).mappings()]
