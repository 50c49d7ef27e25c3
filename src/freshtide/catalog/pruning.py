"""What the catalog forgets, so that it does not grow with every update.

Of a file that tables have loaded, path, content hash, rows and time stamp are kept for ever: they tell whether it has
come before, what a table must hold, and what a backfill reads. All else has an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, Select, delete, func, null, select, update

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


def prune(engine: Engine, now: float, *, most_updates: int = _MOST_UPDATES) -> None:
    """Forget what is old, a few rows at a time."""
    with engine.connect() as connection:
        newest = connection.scalar(select(func.max(updates.c.id))) or 0
    old = updates.c.finished_at < now - _HISTORY
    too_many = (updates.c.id <= newest - most_updates) & updates.c.finished_at.is_not(None)
    _in_portions(engine, select(updates.c.id).where(old | too_many), _forgotten)
    with engine.begin() as connection:
        connection.execute(delete(outages).where(outages.c.ended_at < now - _OUTAGES))
        connection.execute(delete(requests).where(requests.c.done.is_(True), requests.c.created_at < now - _REQUESTS))
    _in_portions(engine, _full_records(now - _HISTORY), _slimmed)


def _full_records(before: float) -> Select[int]:
    """Files that all their tables have loaded, and of which more is known than is asked for after that."""
    pending = select(loads.c.file_id).where(loads.c.file_id == files.c.id, loads.c.number.is_(None)).exists()
    more = files.c.columns.is_not(null()) | files.c.reason.is_not(None)
    return select(files.c.id).where(
        files.c.arrived_at < before, files.c.state.in_((ArrivalState.READY, ArrivalState.PUNCTUATION)), more, ~pending
    )


def _forgotten(ids: list[int]) -> Any:
    return delete(updates).where(updates.c.id.in_(ids))


def _slimmed(ids: list[int]) -> Any:
    return update(files).where(files.c.id.in_(ids)).values(columns=null(), reason=None)


def _in_portions(engine: Engine, found: Select[int], change: Callable[[list[int]], Any]) -> None:
    while True:
        with engine.begin() as connection:
            ids = list(connection.scalars(found.limit(_PORTION)))
            if ids:
                connection.execute(change(ids))
        if len(ids) < _PORTION:
            return
