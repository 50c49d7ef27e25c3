"""The warehouse that is simulated: feeds, tables, a flow, and what their queries mean, in Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from freshtide.core.errors import Origin
from freshtide.flows import Flow
from freshtide.project import Declarations, Project, assemble, declare_sql, read_feed, settings_from

ROOT = Path("/sim")
MINUTE = 60_000_000
LATENESS = 30.0
_BY_HAND = Origin(file="<simulated>")
_SETTINGS: dict[str, Any] = {
    "tracks": 2,
    "poll": "4s",
    "retry": {"attempts": 4, "backoff": "1s", "longest": "8s"},
    "min_free": "0MB",
}
_FEED: dict[str, Any] = {
    "format": "csv",
    "schema": {"id": "bigint not null", "ts": "timestamp not null", "k": "string", "v": "int"},
    "time_column": "ts",
    "settle": "renamed",
    "period": "10s",
}
_TABLES = {
    "a": "CREATE STREAMING TABLE a AS SELECT * FROM STREAM in_order",
    "b": "CREATE STREAMING TABLE b AS SELECT * FROM STREAM with_late WHERE v >= 0",
    "c": "CREATE STREAMING TABLE c TBLPROPERTIES ('flow' = 'split') AS SELECT * FROM STREAM to_split",
    "large": "CREATE MATERIALIZED VIEW large AS SELECT id, ts, k, v FROM a WHERE v > 50",
    "per_minute": (
        "CREATE MATERIALIZED VIEW per_minute AS "
        "SELECT date_trunc('MINUTE', ts) AS minute, k, sum(v) AS total FROM b GROUP BY 1, 2"
    ),
    "totals": "CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM a GROUP BY k",
    "split_totals": "CREATE MATERIALIZED VIEW split_totals AS SELECT k, sum(v) AS total FROM c GROUP BY k",
}


class Row(NamedTuple):
    id: int
    ts: int
    k: str
    v: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A base table: which rows of its feed its query keeps, and where a flow puts those that are not for it."""

    feed: str
    keeps: Callable[[Row], bool] = lambda _row: True
    beside: str | None = None
    """The other target of its flow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    source: str
    query: Callable[[Sequence[Row]], list[tuple[Any, ...]]]
    """What it holds over the rows of its source, in order."""


def is_split_off(row: Row) -> bool:
    """Whether a row goes to the other target of the flow."""
    return row.v < 30


def per_minute(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    found: dict[tuple[int, str], int] = defaultdict(int)
    for row in rows:
        found[row.ts // MINUTE * MINUTE, row.k] += row.v
    return sorted((minute, key, total) for (minute, key), total in found.items())


def totals(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        found[row.k] += row.v
    return sorted(found.items())


FEEDS: Mapping[str, Mapping[str, Any]] = {
    "in_order": {},
    "with_late": {"lateness": f"{LATENESS:.0f}s"},
    "to_split": {},
}
BASES: Mapping[str, Base] = {
    "a": Base(feed="in_order"),
    "b": Base(feed="with_late", keeps=lambda row: row.v >= 0),
    "c": Base(feed="to_split", beside="c_small"),
}
VIEWS: Mapping[str, View] = {
    "large": View(source="a", query=lambda rows: sorted(row for row in rows if row.v > 50)),
    "per_minute": View(source="b", query=per_minute),
    "totals": View(source="a", query=totals),
    "split_totals": View(source="c", query=totals),
}


def project() -> Project:
    return declared()


@cache
def declared(*, without: frozenset[str] = frozenset(), tracks: int = 2) -> Project:
    """The project without some of its tables and feeds, and with so many tracks."""
    declarations = Declarations()
    for feed, more in FEEDS.items():
        if feed in without:
            continue
        found, problems = read_feed(
            {"name": feed, "path": f"landing/{feed}/*.csv", **_FEED, **more}, lambda _: _BY_HAND
        )
        assert found is not None, problems
        declarations.add_feed(found)
    flow = Flow("split")
    arrived = flow.read(feed="to_split")
    arrived.filter("v >= 30").write(table="c")
    arrived.filter("v < 30").write(table="c_small")
    declarations.add_flow(flow.graph())
    for name, text in _TABLES.items():
        if name not in without:
            declare_sql(text, "<simulated>", declarations)
    return assemble(declarations, settings_from({**_SETTINGS, "tracks": tracks}), ROOT)
