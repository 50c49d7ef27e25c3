"""Whatever arrives in whatever order, every view is its query over the base rows up to its freshness."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freshtide.spark import SparkSession
from tests.examples import examples
from tests.warehouse.shop import Shop

# Views by name: the query, its properties, and the tables it needs. Shapes of every kind of maintenance, stacked.
VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    "positive": ("SELECT ts, k, v * 2 AS twice FROM a WHERE v > 0", {}),
    "both": ("SELECT ts, k, v FROM a UNION ALL SELECT ts, k, v + 100 FROM b", {}),
    "distinct_rows": ("SELECT DISTINCT ts, k FROM both", {}),
    "a_minutes": (
        "SELECT date_trunc('minute', ts) AS minute, k, count(*) AS n, sum(v) AS total FROM a GROUP BY 1, 2",
        {},
    ),
    "b_windows": (
        "SELECT window(ts, '30 seconds').start AS start, max(v) AS top, avg(v) AS mean FROM b "
        "GROUP BY window(ts, '30 seconds')",
        {},
    ),
    "closed_minutes": (
        "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM b GROUP BY date_trunc('minute', ts)",
        {"emit": "closed"},
    ),
    "after_closing": ("SELECT minute, n + 1 AS more FROM closed_minutes", {}),
    "near": (
        "SELECT a.ts, a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 20 SECONDS "
        "AND a.ts + INTERVAL 20 SECONDS",
        {"lookback": "20s"},
    ),
    "anywhere": ("SELECT greatest(a.ts, b.ts) AS ts, a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND a.v = b.v", {}),
    "near_minutes": ("SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM near GROUP BY 1", {}),
    "same_second": ("SELECT a.ts, a.k, b.v FROM a LEFT JOIN b ON a.ts = b.ts AND a.k = b.k", {}),
    "busy_minutes": ("SELECT minute, k, n FROM a_minutes WHERE n > 1", {}),
    "hours": ("SELECT date_trunc('hour', minute) AS hour, sum(n) AS n FROM a_minutes GROUP BY 1", {}),
    "compared": (
        "SELECT m.minute, m.k, m.n, c.n AS closed FROM a_minutes m JOIN closed_minutes c ON m.minute = c.minute",
        {},
    ),
    "per_key": ("SELECT k, count(*) AS n, max(ts) AS latest FROM a GROUP BY k", {}),
    "ranked": ("SELECT k, n, rank() OVER (ORDER BY n DESC, k) AS place FROM per_key", {}),
    "steps": (
        "SELECT date_trunc('minute', ts) AS minute, sum(v - before) AS rise FROM (SELECT ts, v, "
        "lag(v, 1, 0) OVER (PARTITION BY date_trunc('minute', ts) ORDER BY ts, k, v) AS before FROM a) GROUP BY 1",
        {},
    ),
}
NEEDS = {
    "distinct_rows": ("both",),
    "after_closing": ("closed_minutes",),
    "near_minutes": ("near",),
    "busy_minutes": ("a_minutes",),
    "hours": ("a_minutes",),
    "compared": ("a_minutes", "closed_minutes"),
    "ranked": ("per_key",),
}

# Views of the same sources that can be updated together.
GROUPS = {
    "of_a": ("positive", "a_minutes", "per_key", "steps"),
    "of_both": ("both", "near", "anywhere", "same_second"),
    "of_minutes": ("busy_minutes", "hours"),
}
GROUP_OF = {view: group for group, views in GROUPS.items() for view in views}

row = st.tuples(st.integers(0, 240), st.sampled_from(["x", "y"]), st.integers(-2, 3))
batch = st.tuples(st.sampled_from(["a", "b"]), st.lists(row, min_size=0, max_size=6))
rounds = st.lists(st.lists(batch, min_size=1, max_size=4), min_size=1, max_size=3)


@st.composite
def chosen_views(draw: st.DrawFn) -> list[str]:
    wanted = set(draw(st.lists(st.sampled_from(sorted(VIEWS)), min_size=3, max_size=5, unique=True)))
    for name in list(wanted):
        wanted.update(NEEDS.get(name, ()))
    return [name for name in VIEWS if name in wanted]


def play(
    spark: SparkSession,
    views: list[str],
    arrivals: list[list[tuple[str, list[tuple[int, str, int]]]]],
    late: int | None,
    grouped: bool = False,
) -> None:
    folder = Path(tempfile.mkdtemp())
    shop = Shop(folder / "shop", spark)
    try:
        declared = {} if late is None else {"lateness": f"{late}s"}
        shop.events("a", duplicates="load", **declared)
        shop.events("b", duplicates="load", **({} if late is None else {"lateness": "0s"}))
        for name in views:
            query, properties = VIEWS[name]
            together = {"update_group": GROUP_OF[name]} if grouped and name in GROUP_OF else {}
            shop.view(name, query, **properties, **together)
        numbers = itertools.count()
        for files in arrivals:
            for feed, rows in files:
                shop.drop_events(feed, f"f{next(numbers):04d}.csv", rows)
            shop.load()
            shop.check()
    finally:
        shop.warehouse.close()
        shutil.rmtree(folder)


@settings(max_examples=examples(4), suppress_health_check=list(HealthCheck))
@given(views=chosen_views(), arrivals=rounds, late=st.sampled_from([None, 0, 30]), grouped=st.booleans())
def test_views_are_their_queries_and_no_row_is_lost(
    spark: SparkSession,
    views: list[str],
    arrivals: list[list[tuple[str, list[tuple[int, str, int]]]]],
    late: int | None,
    grouped: bool,
) -> None:
    play(spark, views, arrivals, late, grouped)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(views=chosen_views(), arrivals=rounds, late=st.sampled_from([None, 0, 30]), grouped=st.booleans())
def test_views_are_their_queries_in_many_more_worlds(
    spark: SparkSession,
    views: list[str],
    arrivals: list[list[tuple[str, list[tuple[int, str, int]]]]],
    late: int | None,
    grouped: bool,
) -> None:
    play(spark, views, arrivals, late, grouped)


@pytest.mark.parametrize(
    ("late", "grouped"),
    [
        pytest.param(60, False, id="declared lateness", marks=pytest.mark.slow),
        pytest.param(None, False, id="no declared lateness", marks=pytest.mark.slow),
        pytest.param(None, True, id="in groups", marks=pytest.mark.slow),
    ],
)
def test_all_view_shapes_together_stay_consistent_through_out_of_order_rounds(
    spark: SparkSession, late: int | None, grouped: bool
) -> None:
    arrivals = [
        [("a", [(5, "x", 1), (65, "y", 2)]), ("b", [(10, "x", 1)])],
        [("a", [(130, "x", 3), (70, "y", 2), (1, "x", 9)]), ("b", [(62, "y", 2), (62, "y", 2)])],
        [("b", [(125, "x", 3), (181, "y", -1)]), ("a", [(190, "x", 1), (190, "y", 0)])],
    ]
    play(spark, list(VIEWS), arrivals, late, grouped)
