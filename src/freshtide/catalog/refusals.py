"""Files that were changed in place: the content that was refused, beside the registered one, which stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Engine, delete, func, insert, select

from freshtide.catalog.rows import arrival_of, transaction, values_of
from freshtide.catalog.schema import refusals
from freshtide.core.arrivals import Arrival


class Refusals:
    """At most one refused content per path, the newest."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, refused: Iterable[Arrival], *, within: Connection | None = None) -> None:
        with transaction(self._engine, within) as connection:
            for file in refused:
                self.forget(file.feed, file.position, within=connection)
                connection.execute(insert(refusals).values(values_of(file, refusals)))

    def forget(self, feed: str, path: str, *, within: Connection | None = None) -> None:
        """The content has been accepted, or the file is again what it was."""
        with transaction(self._engine, within) as connection:
            connection.execute(delete(refusals).where(refusals.c.feed == feed, refusals.c.path == path))

    def all(self, feed: str | None = None) -> list[Arrival]:
        query = select(refusals).order_by(refusals.c.arrived_at, refusals.c.path)
        query = query if feed is None else query.where(refusals.c.feed == feed)
        with self._engine.connect() as connection:
            return [arrival_of(row) for row in connection.execute(query).mappings()]

    def by_paths(self, feed: str, paths: Sequence[str]) -> dict[str, Arrival]:
        known = set(paths)
        return {file.position: file for file in self.all(feed) if file.position in known}

    def counts(self) -> dict[str, int]:
        query = select(refusals.c.feed, func.count()).group_by(refusals.c.feed)
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}
