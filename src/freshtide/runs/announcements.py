"""What the scheduler is told of what waits for a table, as the catalog has it."""

from __future__ import annotations

from collections.abc import Iterable

from freshtide.catalog import Catalog
from freshtide.core.events import DataArrived
from freshtide.core.tables import Table


def pending_announcements(unit: str, tables: Iterable[Table], catalog: Catalog) -> list[DataArrived]:
    """The events that tell the scheduler of all that waits for the tables of a unit."""
    tables = list(tables)
    if any(table.is_latest for table in tables):
        return [
            DataArrived(table=unit, timestamp=catalog.arrivals.announced(file.timestamp, file.feed), at=file.arrived_at)
            for table in tables
            for file in catalog.arrivals.pending(table.name)
        ]
    stamps = {stamp for table in tables for stamp in _pending(table, catalog, None)}
    return [DataArrived(table=unit, timestamp=timestamp) for timestamp in sorted(stamps)]


def leftover_announcements(unit: str, table: Table, catalog: Catalog, upto: float) -> list[DataArrived]:
    """The event that tells of what one load has left of what it was to take: the rest is one piece."""
    stamps = _pending(table, catalog, upto)
    return [DataArrived(table=unit, timestamp=max(stamps))] if stamps else []


def _pending(table: Table, catalog: Catalog, upto: float | None) -> set[float]:
    if table.feed is None:
        return set()
    return {
        catalog.arrivals.announced(stamp, table.feed)
        for stamp in catalog.arrivals.pending_stamps(table.name, upto=upto)
    }
