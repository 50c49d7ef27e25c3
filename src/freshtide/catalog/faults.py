"""What keeps feeds from being watched, for those who look on from other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Engine, delete, insert, select

from freshtide.catalog.schema import feed_faults


class FeedFaults:
    """The faults of every feed as of the run's last look."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def replace(self, faults: Mapping[str, Iterable[str]]) -> None:
        rows = [{"feed": feed, "message": message} for feed, messages in faults.items() for message in messages]
        with self._engine.begin() as connection:
            connection.execute(delete(feed_faults))
            if rows:
                connection.execute(insert(feed_faults), rows)

    def all(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        with self._engine.connect() as connection:
            for row in connection.execute(select(feed_faults).order_by(feed_faults.c.id)):
                found[row.feed] = (*found.get(row.feed, ()), row.message)
        return found
