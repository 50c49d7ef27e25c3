"""Whatever arrives in update tables, they and the views over them hold what a few lines of Python hold."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from freshtide.spark import SparkSession
from tests.warehouse.shop import START, Shop
from tests.warehouse.test_update_tables import MEANS, update_table

SIZE = 10
Row = tuple[int, str, int]
Round = tuple[list[Row], list[Row]]

row = st.tuples(st.integers(0, 45), st.sampled_from("xyz"), st.integers(-2, 3))
some = st.tuples(st.lists(row, max_size=8), st.lists(row, max_size=4))
# A view is there once each of its sources is: the first round brings something for all.
first = st.tuples(st.lists(row, min_size=1, max_size=8), st.lists(row, min_size=1, max_size=4))
rounds = st.builds(lambda one, more: [one, *more], first, st.lists(some, max_size=2))


class Model:
    """Update semantics in plain Python: dictionaries and lists."""

    def __init__(self) -> None:
        self.newest: dict[str, dict[str, tuple[int, int]]] = {"a": {}, "b": {}}
        self.history: dict[str, list[tuple[int, int]]] = {}
        self.windows: dict[tuple[str, int], tuple[int, int]] = {}

    def arrive(self, feed: str, rows: list[Row]) -> None:
        table = self.newest[feed]
        for second, key, value in rows:
            if key not in table or second >= table[key][0]:
                table[key] = (second, value)
            if feed == "a":
                self._lengthen(key, second, value)
        if feed == "a":
            for _, key, _ in rows:
                self._close(key)

    @property
    def risen(self) -> dict[str, tuple[int, int]]:
        """Filter and map see the newest row only: a key whose newest row is left out is not there."""
        return {key: (second, value * 10) for key, (second, value) in self.newest["a"].items() if value > 0}

    @property
    def united(self) -> dict[str, tuple[int, int]]:
        found = dict(self.newest["a"])
        for key, (second, value) in self.newest["b"].items():
            if key not in found or second >= found[key][0]:
                found[key] = (second, value)
        return found

    @property
    def joined(self) -> dict[str, tuple[int, int]]:
        a, b = self.newest["a"], self.newest["b"]
        return {key: (max(a[key][0], b[key][0]), a[key][1] + b[key][1]) for key in a.keys() & b.keys()}

    def _lengthen(self, key: str, second: int, value: int) -> None:
        """Rows of a key in the order of time; of equal times the last."""
        history = self.history.setdefault(key, [])
        if history and second < history[-1][0]:
            return
        if history and second == history[-1][0]:
            history.pop()
        history.append((second, value))

    def _close(self, key: str) -> None:
        """The youngest complete window that has a row is served, unless it was."""
        history = self.history[key]
        complete = [second - second % SIZE for second, _ in history if second - second % SIZE + SIZE <= history[-1][0]]
        if complete and (key, complete[-1]) not in self.windows:
            within = [value for second, value in history if second - second % SIZE == complete[-1]]
            self.windows[key, complete[-1]] = (len(within), sum(within))


def seconds(moment: datetime) -> int:
    return round(moment.timestamp() - START)


def by_key(shop: Shop, table: str) -> dict[str, tuple[int, int]]:
    rows = shop.rows(table)
    found = {row["k"]: (seconds(row["ts"]), row["v"]) for row in rows}
    assert len(found) == len(rows)
    return found


def by_window(shop: Shop) -> dict[tuple[str, int], tuple[int, int]]:
    rows: list[dict[str, Any]] = shop.rows("means")
    found = {(row["k"], seconds(row["window_start"])): (row["n"], row["v"]) for row in rows}
    assert len(found) == len(rows)
    return found


def declare(shop: Shop) -> None:
    update_table(shop, "a")
    update_table(shop, "b")
    properties = "TBLPROPERTIES ('update_key'='k', 'key_order'='in-place')"
    query = "SELECT ts, k, v * 10 AS v FROM STREAM a_feed WHERE v > 0"
    shop.warehouse.sql(f"CREATE STREAMING TABLE risen {properties} AS {query}")
    properties = f"TBLPROPERTIES ('update_key'='k', 'window'='{SIZE}s')"
    shop.warehouse.sql(f"CREATE STREAMING TABLE means {properties} AS SELECT {MEANS.format('a')}")
    shop.view("united", "SELECT ts, k, v FROM a UNION ALL SELECT ts, k, v FROM b", update_key="k")
    joined = "SELECT greatest(a.ts, b.ts) AS ts, a.k, a.v + b.v AS v FROM a JOIN b ON a.k = b.k"
    shop.view("joined", joined, update_key="k")
    shop.view("total", "SELECT count(*) AS n FROM united")


def play(spark: SparkSession, arrivals: list[Round], restart: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    shop = Shop(folder / "shop", spark)
    model = Model()
    try:
        declare(shop)
        for number, (a, b) in enumerate(arrivals):
            for feed, rows in (("a", a), ("b", b)):
                shop.drop_events(feed, f"{number}.csv", rows)
                model.arrive(feed, rows)
            shop.load()
            shop.check()
            assert by_key(shop, "a") == model.newest["a"]
            assert by_key(shop, "b") == model.newest["b"]
            assert by_key(shop, "risen") == model.risen
            assert by_window(shop) == model.windows
            assert by_key(shop, "united") == model.united
            assert by_key(shop, "joined") == model.joined
            if restart:
                shop = shop.again()
                declare(shop)
    finally:
        shop.warehouse.close()
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.timeout(1800)
# Warehouses take seconds: what fails is small enough to be looked at as it is.
@settings(
    max_examples=6,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(arrivals=rounds, restart=st.booleans())
@example(
    arrivals=[
        ([(5, "x", 1), (5, "x", 2), (4, "x", 3)], [(5, "x", 7)]),
        ([(15, "x", 1), (12, "y", 1)], []),
    ],
    restart=True,
)
@example(
    # The second file is stamped before the first, which has to be read again: its window is not complete yet.
    arrivals=[([(45, "y", 2), (34, "z", 1)], [(1, "x", 1)]), ([(19, "z", 1), (35, "z", 0)], [])],
    restart=True,
)
def test_update_tables_and_views_hold_what_the_model_holds(
    spark: SparkSession, arrivals: list[Round], restart: bool
) -> None:
    play(spark, arrivals, restart)
