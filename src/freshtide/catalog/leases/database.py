"""The seat in the catalog: one row, and a look at it before each transaction of the run is committed."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Connection, Update, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from freshtide.catalog.database import Database
from freshtide.catalog.leases.holders import Holder
from freshtide.catalog.leases.seats import Standing
from freshtide.catalog.schema import leases
from freshtide.core.errors import LeaseLostError

_ONLY = 1
_READ = select(leases)
_FIRST = insert(leases).values(id=_ONLY)
_HELD = leases.c.nonce == bindparam("held")
_SET = update(leases).where(_HELD)
_BEAT = _SET.values(beat=leases.c.beat + 1)
# Transactions of the former holder that have looked already end before.
_WAIT_FOR = select(leases).where(_HELD).with_for_update()
_STILL_HELD = select(leases.c.id).where(_HELD).with_for_update(read=True, key_share=True)


class CatalogSeat:
    """A catalog is the book of one run at a time, whatever storage it works on."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder: Holder | None = None
        database.before_commit = self._require

    def read(self) -> Standing | None:
        with self._database.reading() as connection:
            row = connection.execute(_READ).one_or_none()
        return None if row is None else Standing(holder=Holder(**row.holder), beat=row.beat, released=row.released)

    def take(self, holder: Holder, after: Standing | None) -> bool:
        values = {"nonce": holder.nonce, "holder": asdict(holder), "beat": 0, "released": False}
        try:
            with self._database.writing() as connection:
                if after is None:
                    connection.execute(_FIRST, values)
                    taken = True
                else:
                    before = {"held": after.holder.nonce}
                    connection.execute(_WAIT_FOR, before).first()
                    taken = connection.execute(_SET, {**values, **before}).rowcount == 1
        except IntegrityError:
            return False
        self._holder = holder if taken else None
        return taken

    def beat(self, holder: Holder) -> bool:
        return self._change(_BEAT, holder)

    def release(self, holder: Holder) -> None:
        self._holder = None
        self._change(_SET, holder, released=True)

    def _change(self, statement: Update, holder: Holder, **values: object) -> bool:
        with self._database.writing_unasked() as connection:
            return connection.execute(statement, {**values, "held": holder.nonce}).rowcount == 1

    def _require(self, connection: Connection) -> None:
        """The last statement of each transaction: it goes in before the lease is taken over, or not at all."""
        if self._holder is None:
            return
        if connection.execute(_STILL_HELD, {"held": self._holder.nonce}).first() is None:
            raise LeaseLostError(
                "Another process has taken over the catalog: this run writes nothing into it any more.",
                way_out="`freshtide status` tells which one.",
            )
