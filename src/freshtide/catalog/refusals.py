"""Files that were changed in place: the content that was refused, beside the registered one, which stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from freshtide.catalog.database import Database
from freshtide.catalog.questions import WAITS_FOR_ITS_CONTENT
from freshtide.catalog.rows import arrival_of, values_of
from freshtide.catalog.schema import files, refusals
from freshtide.core.arrivals import Arrival

_ADD = insert(refusals)
_FORGET = delete(refusals).where(refusals.c.feed == bindparam("of_feed"), refusals.c.path == bindparam("of_path"))
# A file that waits for its content is put aside and told of as that; what lies in its place is not told of once more.
_IS_PUT_ASIDE = (
    select(files.c.id)
    .where(files.c.feed == refusals.c.feed, files.c.path == refusals.c.path, WAITS_FOR_ITS_CONTENT)
    .exists()
)
_ALL = select(refusals).where(~_IS_PUT_ASIDE).order_by(refusals.c.arrived_at, refusals.c.path)
_OF_FEED = _ALL.where(refusals.c.feed == bindparam("of_feed"))
_COUNTS = select(refusals.c.feed, func.count()).where(~_IS_PUT_ASIDE).group_by(refusals.c.feed)


class Refusals:
    """At most one refused content per path, the newest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, refused: Iterable[Arrival], *, within: Connection | None = None) -> None:
        with self._database.writing(within) as connection:
            for file in refused:
                self.forget(file.feed, file.position, within=connection)
                connection.execute(_ADD, values_of(file, refusals))

    def forget(self, feed: str, path: str, *, within: Connection | None = None) -> None:
        """The content has been accepted, or the file is again what it was."""
        with self._database.writing(within) as connection:
            connection.execute(_FORGET, {"of_feed": feed, "of_path": path})

    def all(self, feed: str | None = None) -> list[Arrival]:
        with self._database.reading() as connection:
            found = connection.execute(_ALL) if feed is None else connection.execute(_OF_FEED, {"of_feed": feed})
            return [arrival_of(row) for row in found.mappings()]

    def by_paths(self, feed: str, paths: Sequence[str]) -> dict[str, Arrival]:
        known = set(paths)
        return {file.position: file for file in self.all(feed) if file.position in known}

    def counts(self) -> dict[str, int]:
        with self._database.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(_COUNTS)}
