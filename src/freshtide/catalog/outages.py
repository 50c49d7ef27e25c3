"""Outages of feeds, while they go on and afterwards."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Float, bindparam, case, func, insert, select, update

from freshtide.catalog.database import Database
from freshtide.catalog.schema import outages
from freshtide.core.health import Outage

_GOES_ON = outages.c.ended_at.is_(None)
_BEGIN = insert(outages)
_END = update(outages).where(outages.c.feed == bindparam("silent"), _GOES_ON)
_ABANDON = update(outages).where(_GOES_ON).values(ended_at=outages.c.began_at)
_AT = bindparam("at", type_=Float(53))
_ABANDON_AT = (
    update(outages).where(_GOES_ON).values(ended_at=case((outages.c.began_at > _AT, outages.c.began_at), else_=_AT))
)
_GOING_ON = select(outages).where(_GOES_ON)
_NEWEST = select(func.max(outages.c.id)).where(outages.c.ended_at.is_not(None)).group_by(outages.c.feed)
_LAST_ENDED = select(outages).where(outages.c.id.in_(_NEWEST))


class OutageLog:
    """The history of outages; a feed has at most one that goes on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, feed: str, outage: Outage) -> None:
        values = {name: getattr(outage, name) for name in Outage.__slots__}
        with self._database.writing() as connection:
            connection.execute(_BEGIN, {"feed": feed, **values})

    def end(self, feed: str, *, at: float) -> None:
        """A file has come."""
        with self._database.writing() as connection:
            connection.execute(_END, {"silent": feed, "ended_at": at, "returned": True})

    def abandon(self, at: float | None) -> None:
        """Nobody has watched the feeds since a moment: what goes on is not known to have gone on after it."""
        with self._database.writing() as connection:
            if at is None:
                connection.execute(_ABANDON)
            else:
                connection.execute(_ABANDON_AT, {"at": at})

    def going_on(self) -> dict[str, Outage]:
        """The outage of each feed that is in one."""
        return self._select(_GOING_ON)

    def last_ended(self) -> dict[str, Outage]:
        """The newest outage of each feed that is over."""
        return self._select(_LAST_ENDED)

    def _select(self, query: Any) -> dict[str, Outage]:
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        return {row["feed"]: Outage(**{name: row[name] for name in Outage.__slots__}) for row in rows}
