"""Views from changes, of queries at random and over each other, are their queries whatever happens to the warehouse."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import pytest

from freshtide.core.choosing import Way
from freshtide.spark import SparkSession
from tests.examples import slow_except
from tests.spark.incremental.queries import Query, query
from tests.warehouse.choosing import teach
from tests.warehouse.shop import Shop
from tests.warehouse.test_update_tables import update_table

_EVENTS = {"ts": "time", "k": "text", "v": "int"}
_ROUNDS = 3
_VIEWS = 3
_SEEDS = 6


@pytest.mark.parametrize("seed", slow_except(range(_SEEDS), 0))
def test_views_of_queries_at_random_are_followed(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    run_at_random(rng, Shop(tmp_path / "shop", spark), views_at_random(rng), {"maintain": "incremental"})


@pytest.mark.parametrize("seed", slow_except(range(_SEEDS), 1))
def test_views_that_switch_between_full_and_changes_at_random_are_right(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    rng = Random(seed)
    run_at_random(rng, Shop(tmp_path / "shop", spark), views_at_random(rng), {})


def run_at_random(rng: Random, shop: Shop, views: Mapping[str, Query], properties: Mapping[str, str]) -> None:
    declare(shop, views, properties)
    try:
        numbers = itertools.count()
        for _ in range(_ROUNDS):
            for feed, rows in arrivals(rng):
                shop.drop_events(feed, f"{next(numbers)}.csv", rows)
            switched(rng, shop, views)
            shop.load()
            shop.check()
            shop = disturbed(rng, shop, views, properties)
        switched(rng, shop, views)
        shop.load()
        shop.check()
    finally:
        shop.warehouse.close()


def views_at_random(rng: Random) -> Mapping[str, Query]:
    """Some queries, each over tables and the views before it."""
    tables: dict[str, Mapping[str, str]] = {"a": _EVENTS, "b": _EVENTS, "quotes": _EVENTS}
    views: dict[str, Query] = {}
    for at in range(_VIEWS):
        drawn = query(rng.randrange(2**32), tables, most=2)
        views[f"view{at}"] = drawn
        tables[f"view{at}"] = drawn.columns
    return views


def switched(rng: Random, shop: Shop, views: Mapping[str, Query]) -> None:
    """Let each view take the one way to be quicker, or the other, where it may choose."""
    for name in views:
        if shop.warehouse.project.graph[name].may_follow:
            teach(shop, name, dear=rng.choice((Way.FULL, Way.FULL, Way.CHANGES)))


def declare(shop: Shop, views: Mapping[str, Query], properties: Mapping[str, str]) -> None:
    shop.events("a", duplicates="load")
    shop.events("b", duplicates="load", lateness="30s")
    update_table(shop)
    for name, drawn in views.items():
        shop.view(name, drawn.text, **properties)


def arrivals(rng: Random) -> Iterator[tuple[str, list[tuple[float, str, object]]]]:
    """Files of both kinds of tables: times in no order, values that are missing, rows that come twice."""
    for feed in ("a", "b", "quotes"):
        if rng.random() < 0.7:
            drawn = [
                (rng.randint(0, 40) * 10.0, rng.choice("uvw"), rng.choice(("", 1, 2, 3)))
                for _ in range(rng.randint(1, 4))
            ]
            yield feed, [*drawn, *(drawn[:1] if feed != "quotes" else ())]


def disturbed(rng: Random, shop: Shop, views: Mapping[str, Query], properties: Mapping[str, str]) -> Shop:
    """The warehouse after something that happens to warehouses."""
    match rng.choice(("nothing", "backfill", "restart", "pause")):
        case "backfill":
            there = [name for name in ("a", *views) if shop.freshness(name) is not None]
            for name in rng.sample(there, k=min(1, len(there))):
                shop.warehouse.backfill(name)
        case "restart":
            shop = shop.again()
            declare(shop, views, properties)
        case "pause":
            paused = rng.choice(sorted(views))
            shop.warehouse.pause(paused)
            for feed, rows in arrivals(rng):
                shop.drop_events(feed, f"paused{rng.randrange(2**32)}.csv", rows)
            shop.load()
            shop.warehouse.resume(paused)
    return shop
