"""The seat in the catalog: one row, and a look at it before each transaction of the run is committed."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Connection, Engine, event, insert, select, update
from sqlalchemy.exc import IntegrityError

from freshtide.catalog.leases.holders import Holder
from freshtide.catalog.leases.seats import Standing
from freshtide.catalog.schema import leases
from freshtide.core.errors import LeaseLostError

_ONLY = 1


class CatalogSeat:
    """A catalog is the book of one run at a time, whatever storage it works on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._holder: Holder | None = None
        event.listen(engine, "commit", self._require)

    def read(self) -> Standing | None:
        with self._engine.connect() as connection:
            row = connection.execute(select(leases)).one_or_none()
        return None if row is None else Standing(holder=Holder(**row.holder), beat=row.beat, released=row.released)

    def take(self, holder: Holder, after: Standing | None) -> bool:
        values = {"nonce": holder.nonce, "holder": asdict(holder), "beat": 0, "released": False}
        try:
            with self._engine.begin() as connection:
                if after is None:
                    connection.execute(insert(leases).values(id=_ONLY, **values))
                    taken = True
                else:
                    before = leases.c.nonce == after.holder.nonce
                    # Transactions of the former holder that have looked already end before.
                    connection.execute(select(leases).where(before).with_for_update()).first()
                    taken = connection.execute(update(leases).where(before).values(values)).rowcount == 1
        except IntegrityError:
            return False
        self._holder = holder if taken else None
        return taken

    def beat(self, holder: Holder) -> bool:
        return self._set(holder, beat=leases.c.beat + 1)

    def release(self, holder: Holder) -> None:
        self._holder = None
        self._set(holder, released=True)

    def _set(self, holder: Holder, **values: object) -> bool:
        with self._engine.begin() as connection:
            return connection.execute(update(leases).where(leases.c.nonce == holder.nonce).values(values)).rowcount == 1

    def _require(self, connection: Connection) -> None:
        """The last statement of each transaction: it goes in before the lease is taken over, or not at all."""
        if self._holder is None:
            return
        mine = select(leases.c.id).where(leases.c.nonce == self._holder.nonce)
        if connection.execute(mine.with_for_update(read=True, key_share=True)).first() is None:
            raise LeaseLostError(
                "Another process has taken over the catalog: this run writes nothing into it any more.",
                way_out="`freshtide status` tells which one.",
            )
