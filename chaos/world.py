"""The project that is run and killed: feeds of all formats, tables and views of every maintenance, a flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LARGE = 40_000
"""Bytes from which on Spark writes by itself: some files, and what views read after a while, are that large."""
_FEEDS = {
    "orders_feed": """\
path: {landing}/orders/*
format: csv
schema: {{id: bigint not null, ts: timestamp, k: string, v: int, note: string}}
time_column: ts
lateness: 20s
""",
    "clicks_feed": """\
path: {landing}/clicks/*
format: json
schema: {{id: bigint not null, ts: timestamp, k: string, v: int, note: string}}
time_column: ts
""",
    "readings_feed": """\
path: {landing}/readings/*.parquet
format: parquet
schema: {{id: bigint, ts: timestamp, k: string not null, v: int, note: string}}
time_column: ts
punctuation: "*.mark"
""",
    "ticks_feed": """\
path: {landing}/ticks/*
format: csv
schema: {{id: bigint, ts: timestamp, k: string not null, v: int, note: string}}
time_column: ts
""",
    "sales_feed": """\
path: {landing}/sales/*
format: csv
schema: {{id: bigint not null, ts: timestamp, k: string, v: int, note: string}}
time_column: ts
""",
}

_TABLES = """\
CREATE STREAMING TABLE orders AS SELECT * FROM STREAM orders_feed;
CREATE STREAMING TABLE slim_orders AS SELECT id, ts FROM STREAM orders_feed;
CREATE STREAMING TABLE large_orders AS SELECT id, ts, v FROM STREAM orders_feed WHERE v >= 5;
CREATE STREAMING TABLE clicks AS SELECT * FROM STREAM clicks_feed;
CREATE STREAMING TABLE readings PARTITIONED BY (k) AS SELECT * FROM STREAM readings_feed;
CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key'='k') AS SELECT * FROM STREAM ticks_feed;
CREATE STREAMING TABLE sales TBLPROPERTIES ('flow'='priced', 'priority'='50') AS SELECT * FROM STREAM sales_feed;
"""

_FLOW = """\
activities:
  arrived: {{read: {{feed: sales_feed}}}}
  complete: {{not_null: [v], from: arrived}}
  taxed: {{expression: {{columns: {{tax: v * 10}}}}, from: complete}}
  load: {{write: {{table: sales}}, from: taxed}}
  unpriced: {{write: {{table: unpriced, mode: append}}, from: complete.quarantine}}
  counted: {{aggregate: {{by: k, columns: {{n: count(*)}}}}, from: taxed}}
  out: {{write: {{files: {out}/keys, mode: append}}, from: counted}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view, in SQL that Spark and DuckDB understand alike."""

    query: str
    sources: tuple[str, ...]
    """The base tables that it comes down to."""
    feeds: tuple[str, ...]
    """What these are loaded from."""
    properties: Mapping[str, str] | None = None


VIEWS = {
    "order_minutes": View(
        query="SELECT date_trunc('minute', ts) AS minute, count(*) AS n, sum(v) AS total FROM orders GROUP BY 1",
        sources=("orders",),
        feeds=("orders",),
    ),
    "small_orders": View(query="SELECT id, ts, v FROM orders WHERE v < 3", sources=("orders",), feeds=("orders",)),
    "order_keys": View(
        query="SELECT k, count(*) AS n, sum(v) AS total FROM orders GROUP BY k", sources=("orders",), feeds=("orders",)
    ),
    "click_minutes": View(
        query="SELECT date_trunc('minute', ts) AS minute, k, count(*) AS n FROM clicks GROUP BY 1, 2",
        sources=("clicks",),
        feeds=("clicks",),
    ),
    "matches": View(
        query="SELECT o.ts AS ts, o.id AS order_id, c.id AS click_id "
        "FROM orders o JOIN clicks c ON c.ts = o.ts AND c.k = o.k",
        sources=("orders", "clicks"),
        feeds=("orders", "clicks"),
    ),
    "reading_minutes": View(
        query="SELECT date_trunc('minute', ts) AS minute, count(*) AS n, min(v) AS least FROM readings GROUP BY 1",
        sources=("readings",),
        feeds=("readings",),
    ),
}
"""Of the views that are cut by time."""
LATEST_VIEWS = {
    "even_quotes": View(
        query="SELECT k, ts, id, v FROM quotes WHERE v % 2 = 0",
        sources=("quotes",),
        feeds=("ticks",),
        properties={"update_key": "k"},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all projects of a campaign share."""

    folder: Path
    catalog: str | None
    """None: each project has its own."""

    @property
    def landing(self) -> Path:
        return self.folder / "landing"

    @property
    def storage(self) -> Path:
        return self.folder / "tables"

    @property
    def out(self) -> Path:
        return self.folder / "out"


def write_project(root: Path, world: World) -> None:
    """Write the project into a folder. Several folders may be projects of one world."""
    for folder in ("feeds", "tables", "flows"):
        (root / folder).mkdir(parents=True)
    settings = [
        "name: chaos",
        "tracks: 2",
        "poll: 50ms",
        f"storage: {world.storage}",
        f"large_update: {LARGE}",
        "spark: {driver_memory: 1g}",
    ]
    if world.catalog is not None:
        settings.append(f"catalog: {world.catalog}")
    (root / "freshtide.yml").write_text("\n".join(settings) + "\n")
    for name, text in _FEEDS.items():
        (root / "feeds" / f"{name}.yml").write_text(
            text.format(landing=world.landing) + "settle: renamed\nperiod: 1s\n"
        )
    views = "\n".join(_statement(name, view) for name, view in {**VIEWS, **LATEST_VIEWS}.items())
    (root / "tables" / "tables.sql").write_text(_TABLES + views)
    (root / "flows" / "priced.yml").write_text(_FLOW.format(out=world.out))


def _statement(name: str, view: View) -> str:
    listed = ", ".join(f"'{key}'='{value}'" for key, value in (view.properties or {}).items())
    clause = f" TBLPROPERTIES ({listed})" if listed else ""
    return f"CREATE MATERIALIZED VIEW {name}{clause} AS {view.query};\n"
