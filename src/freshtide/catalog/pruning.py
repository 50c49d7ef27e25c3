"""What the catalog forgets, so that it does not grow with every update.

Of a file that tables have loaded, path, content hash, rows and time stamp are kept for ever: they tell whether it has
come before, what a table must hold, and what a backfill reads. All else has an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BindParameter, Executable, Select, bindparam, delete, func, null, select, update

from freshtide.catalog.database import Database
from freshtide.catalog.schema import files, loads, outages, requests, updates
from freshtide.core.arrivals import ArrivalState

# Updates are kept for explanations, curves and promises: for so long, and so many.
_HISTORY = 7 * 86_400.0
_MOST_UPDATES = 200_000
# Outages are few, and the last one of a feed may be long ago.
_OUTAGES = 90 * 86_400.0
# Whoever asked has looked for the answer by then.
_REQUESTS = 86_400.0
# So many rows in a transaction: whoever books an update waits for the end of it.
_PORTION = 1_000

_BEFORE: BindParameter[float] = bindparam("before")
_IDS: BindParameter[list[int]] = bindparam("ids", expanding=True)
_NEWEST = select(func.max(updates.c.id))
_IS_TOO_FAR_BACK = (updates.c.id <= bindparam("upto")) & updates.c.finished_at.is_not(None)
_OLD_UPDATES = select(updates.c.id).where((updates.c.finished_at < _BEFORE) | _IS_TOO_FAR_BACK).limit(_PORTION)
_FORGET_UPDATES = delete(updates).where(updates.c.id.in_(_IDS))
_FORGET_OUTAGES = delete(outages).where(outages.c.ended_at < _BEFORE)
_FORGET_REQUESTS = delete(requests).where(requests.c.done.is_(True), requests.c.created_at < _BEFORE)
_PENDING = select(loads.c.file_id).where(loads.c.file_id == files.c.id, loads.c.number.is_(None)).exists()
# Files that all their tables have loaded, and of which more is known than is asked for after that.
_FULL_RECORDS = (
    select(files.c.id)
    .where(
        files.c.arrived_at < _BEFORE,
        files.c.state.in_((ArrivalState.READY, ArrivalState.PUNCTUATION)),
        files.c.columns.is_not(null()) | files.c.reason.is_not(None),
        ~_PENDING,
    )
    .limit(_PORTION)
)
_SLIM = update(files).where(files.c.id.in_(_IDS)).values(columns=null(), reason=None)


def prune(database: Database, now: float, *, most_updates: int = _MOST_UPDATES) -> None:
    """Forget what is old, a few rows at a time."""
    with database.reading() as connection:
        newest = connection.scalar(_NEWEST) or 0
    old = {"before": now - _HISTORY}
    _in_portions(database, _OLD_UPDATES, {**old, "upto": newest - most_updates}, _FORGET_UPDATES)
    with database.writing() as connection:
        connection.execute(_FORGET_OUTAGES, {"before": now - _OUTAGES})
        connection.execute(_FORGET_REQUESTS, {"before": now - _REQUESTS})
    _in_portions(database, _FULL_RECORDS, old, _SLIM)


def _in_portions(database: Database, found: Select[Any], asked: Mapping[str, float], change: Executable) -> None:
    while True:
        with database.writing() as connection:
            ids = list(connection.scalars(found, asked))
            if ids:
                connection.execute(change, {"ids": ids})
        if len(ids) < _PORTION:
            return
