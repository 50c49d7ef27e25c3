"""A shop: orders and clicks arrive, a view joins them, others count the orders by hour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from freshtide.catalog import Catalog, RunLease, TableRow, UpdateRow, UpdateStatus
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.instants import parse_instant
from freshtide.observe import Explanation, WarehouseStatus, explain, warehouse_status
from freshtide.project import Project, load_project
from freshtide.runs import Places, beginning_of
from freshtide.runtime.trace import TraceWriter
from freshtide.storage import Change, Store, UpdateKind, UpdateRecord
from freshtide.world import SystemClock

NOON = parse_instant("2026-05-01T12:00:00Z")

SETTINGS = "name: shop\nscheduler: {ordering}\ntracks: 2\n"
FEED = """\
path: landing/{name}/*.csv
format: csv
schema:
  time: timestamp
  id: bigint
time_column: time
period: {period}
"""
TABLES = {
    "orders": "CREATE STREAMING TABLE orders TBLPROPERTIES ('target_lag' = '10m', 'priority' = '5')"
    " AS SELECT time, id FROM STREAM orders_feed;",
    "clicks": "CREATE STREAMING TABLE clicks AS SELECT time, id FROM STREAM clicks_feed;",
    "sales": "CREATE MATERIALIZED VIEW sales TBLPROPERTIES ('target_lag' = '1h')"
    " AS SELECT o.time, o.id FROM orders o JOIN clicks c ON o.id = c.id AND o.time = c.time;",
    "large_sales": "CREATE MATERIALIZED VIEW large_sales AS SELECT time, id FROM sales WHERE id > 100;",
    "hourly": "CREATE MATERIALIZED VIEW hourly TBLPROPERTIES ('emit' = 'closed')"
    " AS SELECT date_trunc('hour', time) AS hour, count(*) AS n FROM orders GROUP BY date_trunc('hour', time);",
}


def write_project(root: Path, ordering: str = "max-benefit") -> Path:
    for folder in ("feeds", "tables"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "freshtide.yml").write_text(SETTINGS.format(ordering=ordering), encoding="utf-8")
    for name, period in (("orders", "5m"), ("clicks", "1h")):
        (root / "feeds" / f"{name}_feed.yml").write_text(FEED.format(name=name, period=period), encoding="utf-8")
    for name, text in TABLES.items():
        (root / "tables" / f"{name}.sql").write_text(text, encoding="utf-8")
    return root


class _At(SystemClock):
    """A clock that stands."""

    def __init__(self, now: float) -> None:
        super().__init__()
        self._now = now

    def now(self) -> float:
        return self._now


@dataclass(frozen=True, slots=True)
class Shop:
    """The project and its catalog, at noon unless said otherwise. Moments are seconds from noon."""

    project: Project
    catalog: Catalog
    store: Store

    @classmethod
    def open(cls, root: Path) -> Shop:
        project = load_project(root)
        places = Places(project)
        return cls(project, Catalog.open(places.catalog_url), Store(places.tables))

    def close(self) -> None:
        self.catalog.close()

    def is_fresh(self, name: str, freshness: float | None, *, safe: float | None = None, **changes: Any) -> None:
        """Put a table's state into the catalog."""
        reached = None if freshness is None else NOON + freshness
        promised = reached if safe is None else NOON + safe
        row = TableRow(name=name, number=1, version=0, freshness=reached, safe=promised)
        self.catalog.tables.put(replace(row, **changes))

    def arrives(self, name: str, path: str, stamp: float | None, *, at: float = 0.0, **changes: Any) -> Arrival:
        """A file arrives for the base table of the same name as its feed."""
        settings: dict[str, Any] = {"state": ArrivalState.READY, "rows": 1, "size": 1, "modified_ns": 1}
        file = Arrival(
            feed=f"{name}_feed",
            position=path,
            digest=path.rjust(64, "0"),
            arrived_at=NOON + at,
            timestamp=None if stamp is None else NOON + stamp,
            **(settings | changes),
        )
        return self.catalog.arrivals.register(file, [name])

    def runs(self, name: str, *, since: float, track: int = 0, **changes: Any) -> int:
        """An update of the table starts."""
        row = UpdateRow(
            table=name,
            number=2,
            kind="load",
            track=track,
            status=UpdateStatus.RUNNING,
            started_at=NOON + since,
            upto=NOON,
        )
        return self.catalog.updates.start(replace(row, **changes))

    def ran(self, name: str, *, since: float, until: float, freshness: float) -> None:
        """An update of the table has ended well."""
        number = self.runs(name, since=since)
        self.catalog.updates.finish(number, at=NOON + until, freshness=NOON + freshness, rows=1)

    def begins(self, at: float) -> None:
        """A run begins, and is over without a word: what it leaves behind is a trace and a lock of that moment."""
        places = Places(self.project)
        TraceWriter(places.trace, beginning_of(self.project, self.catalog)).close()
        with RunLease(places.lock, self.catalog.seat, clock=_At(NOON + at)):
            pass

    def loads(self, minute: float, *, took: float = 2.0) -> None:
        """A file of orders comes at a minute, just written, and is loaded at once."""
        at = 60.0 * minute
        self.arrives("orders", f"/in/{minute:g}", at, at=at)
        self.ran("orders", since=at, until=at + took, freshness=at)

    def stores(self, name: str, rows: int) -> None:
        """The table on disk gets so many rows."""
        table = self.store.table(name)
        number = (table.snapshot.number if table.snapshot else 0) + 1
        content = pa.table({"id": list(range(rows))})
        record = UpdateRecord(number=number, kind=UpdateKind.LOAD, freshness=None, safe=None, definition="d")
        files = tuple(table.write(content, number=number))
        table.commit(Change(record=record, at=NOON, schema=content.schema, add=files))

    def status(self, at: float = 0.0, select: tuple[str, ...] | None = None) -> WarehouseStatus:
        return warehouse_status(self.project, self.catalog, NOON + at, select=select, looking_back=True)

    def explains(self, name: str, at: float = 0.0, *, run_going_on: bool = True) -> Explanation:
        return explain(self.project, self.catalog, name, NOON + at, run_going_on=run_going_on)

    def says(self, name: str, at: float = 0.0) -> str:
        """All that is said about a table."""
        return " ".join(self.explains(name, at).sentences)
