"""The example of a star schema, as its README runs it: each view is what DuckDB makes of the raw files."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from freshtide.spark import SparkSession
from tests.commands import answer, freshtide, leaving_spark_to_others

EXAMPLE = Path(__file__).parents[2] / "examples" / "star"
_HISTORY = (
    "CREATE VIEW {dim} AS SELECT *, lead(changed_at) OVER (PARTITION BY {key} ORDER BY changed_at) AS ends FROM {raw}"
)
_NEWEST = (
    "CREATE VIEW {dim} AS SELECT * FROM {raw} "
    "QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY changed_at DESC) = 1"
)
_AS_OF = "{fact}.{at} >= {dim}.changed_at AND ({dim}.ends IS NULL OR {fact}.{at} < {dim}.ends)"
_PLANE, _CUSTOMER = _AS_OF.format(fact="f", at="departed_at", dim="p"), _AS_OF.format(fact="b", at="booked_at", dim="c")
_BY_HAND = {
    "flights_with_planes": "SELECT departed_at, flight, origin, destination, model, seats "
    f"FROM flights f JOIN planes_then p ON f.tail = p.tail AND {_PLANE}",
    "revenue_per_day": "SELECT date_trunc('day', booked_at), segment, cabin, count(*), sum(price) FROM bookings b "
    f"JOIN customers_then c ON b.customer = c.customer AND {_CUSTOMER} LEFT JOIN fares_now USING (fare) GROUP BY ALL",
    "routes": "SELECT o.city, d.city, count(*), sum(minutes) FROM flights LEFT JOIN airports_now o "
    "ON o.airport = origin LEFT JOIN airports_now d ON d.airport = destination GROUP BY ALL",
    "load_factors": "SELECT departed_at, f.flight, model, seats, "
    # Of two facts it has what had happened when the one was there that ends earlier.
    "(SELECT count(*) FROM bookings b WHERE b.flight = f.flight AND booked_at <= edge) FROM flights f "
    "JOIN (SELECT least(max(departed_at), (SELECT max(booked_at) FROM bookings)) AS edge FROM flights) "
    f"ON departed_at <= edge JOIN planes_then p ON f.tail = p.tail AND {_PLANE}",
    "customers_now": "SELECT segment, count(*) FROM customers_then WHERE ends IS NULL GROUP BY segment",
}


@pytest.fixture
def star(tmp_path: Path, spark: SparkSession) -> Iterator[Path]:  # noqa: ARG001 - commands find it
    copy = tmp_path / "star"
    shutil.copytree(EXAMPLE, copy)
    with leaving_spark_to_others():
        yield copy


def by_duckdb(star: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    with duckdb.connect() as engine:
        for raw in ("planes", "customers", "airports", "fares", "flights", "bookings"):
            types = "" if raw != "bookings" else ", types = {'price': 'DECIMAL(10,2)'}"
            engine.execute(f"CREATE TABLE {raw} AS SELECT * FROM read_csv('{star}/landing/{raw}/*.csv'{types})")
            for column in ("changed_at", "departed_at", "booked_at"):
                if column in (row[0] for row in engine.execute(f"DESCRIBE {raw}").fetchall()):
                    engine.execute(f"ALTER TABLE {raw} ALTER {column} TYPE TIMESTAMP")
        for raw, key in (("planes", "tail"), ("customers", "customer")):
            engine.execute(_HISTORY.format(dim=f"{raw}_then", key=key, raw=raw))
        for raw, key in (("airports", "airport"), ("fares", "fare")):
            engine.execute(_NEWEST.format(dim=f"{raw}_now", key=key, raw=raw))
        return {view: _bag(engine.execute(query).fetchall()) for view, query in _BY_HAND.items()}


def stored(star: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    return {view: _bag(pl.read_delta(str(star / "warehouse" / view)).rows()) for view in _BY_HAND}


def _bag(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    """Times with their zone, and numbers whatever their width."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    return float(value) if isinstance(value, Decimal) else value


def run(star: Path) -> None:
    done = freshtide("run", "--once", at=star)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_views_are_what_duckdb_makes_of_the_raw_files_also_after_dimensions_have_changed(star: Path) -> None:
    assert freshtide("validate", at=star).returncode == 0
    run(star)
    first = stored(star)
    assert first == by_duckdb(star)
    shutil.copytree(star / "later", star / "landing", dirs_exist_ok=True)
    run(star)
    assert stored(star) == by_duckdb(star)
    assert all(stored(star)[view] != rows for view, rows in first.items())
    # After a restart there is nothing to do, and nothing differs.
    run(star)
    assert stored(star) == by_duckdb(star)
    assert all(result["passed"] for result in answer("audit", at=star))
    tables = {table["name"]: table for table in answer("status", at=star)["tables"]}
    rows = {"dim_planes": 7, "dim_customers": 16, "dim_airports": 5, "dim_fares": 3}
    assert {name: tables[name]["rows"] for name in rows} == rows
    assert {tables[name]["made_by"] for name in rows} == {"planes", "customers", "airports", "fares"}
    shown = freshtide("status", at=star).stdout
    assert "Made by flows" in shown
    found = answer("query", "SELECT seats FROM dim_planes WHERE tail = 'D-ABCB' ORDER BY valid_from", at=star)
    assert [row["seats"] for row in found["rows"]] == [174, 200]
