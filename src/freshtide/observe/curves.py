"""Staleness over a stretch of time, integrated exactly from the updates that finished in it."""

from __future__ import annotations

from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.core.staleness import StalenessCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCurve:
    """How stale a table was between its first update in the stretch and the end of it."""

    table: str
    mean: float
    maximum: float
    final: float
    updates: int


def staleness_curves(catalog: Catalog, *, since: float, until: float) -> dict[str, TableCurve]:
    """One curve per table that was updated in the stretch."""
    curves: dict[str, StalenessCurve] = {}
    updates: dict[str, int] = {}
    for update in catalog.updates.done_since(since):
        if update.freshness is None or update.finished_at is None or update.finished_at > until:
            continue
        updates[update.table] = updates.get(update.table, 0) + 1
        if update.table not in curves:
            curves[update.table] = StalenessCurve(since=update.finished_at, freshness=update.freshness)
        else:
            curves[update.table].refreshed(update.finished_at, update.freshness)
    found = {}
    for name, curve in curves.items():
        curve.advance(until)
        found[name] = TableCurve(
            table=name,
            mean=curve.mean,
            maximum=curve.maximum,
            final=until - curve.freshness,
            updates=updates[name],
        )
    return found
