"""Outages of feeds, while they go on and afterwards."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, case, func, insert, select, update

from freshtide.catalog.schema import outages
from freshtide.core.health import Outage


class OutageLog:
    """The history of outages; a feed has at most one that goes on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, feed: str, outage: Outage) -> None:
        values = {name: getattr(outage, name) for name in Outage.__slots__}
        with self._engine.begin() as connection:
            connection.execute(insert(outages).values(feed=feed, **values))

    def end(self, feed: str, *, at: float) -> None:
        """A file has come."""
        with self._engine.begin() as connection:
            connection.execute(
                update(outages)
                .where(outages.c.feed == feed, outages.c.ended_at.is_(None))
                .values(ended_at=at, returned=True)
            )

    def abandon(self, at: float | None) -> None:
        """Nobody has watched the feeds since a moment: what goes on is not known to have gone on after it."""
        known = outages.c.began_at
        ended_at = known if at is None else case((known > at, known), else_=at)
        with self._engine.begin() as connection:
            connection.execute(update(outages).where(outages.c.ended_at.is_(None)).values(ended_at=ended_at))

    def going_on(self) -> dict[str, Outage]:
        """The outage of each feed that is in one."""
        return self._select(select(outages).where(outages.c.ended_at.is_(None)))

    def last_ended(self) -> dict[str, Outage]:
        """The newest outage of each feed that is over."""
        newest = select(func.max(outages.c.id)).where(outages.c.ended_at.is_not(None)).group_by(outages.c.feed)
        return self._select(select(outages).where(outages.c.id.in_(newest)))

    def _select(self, query: Any) -> dict[str, Outage]:
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return {row["feed"]: Outage(**{name: row[name] for name in Outage.__slots__}) for row in rows}
