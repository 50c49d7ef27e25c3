"""What keeps feeds from being watched, for those who look on from other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import delete, insert, select

from freshtide.catalog.database import Database
from freshtide.catalog.schema import feed_faults

_FORGET = delete(feed_faults)
_ADD = insert(feed_faults)
_ALL = select(feed_faults).order_by(feed_faults.c.id)


class FeedFaults:
    """The faults of every feed as of the run's last look."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, faults: Mapping[str, Iterable[str]]) -> None:
        rows = [{"feed": feed, "message": message} for feed, messages in faults.items() for message in messages]
        with self._database.writing() as connection:
            connection.execute(_FORGET)
            if rows:
                connection.execute(_ADD, rows)

    def all(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(_ALL):
                found[row.feed] = (*found.get(row.feed, ()), row.message)
        return found
