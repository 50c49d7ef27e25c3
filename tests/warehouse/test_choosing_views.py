"""In full or from changes: what updates have taken decides, and whichever it is, the view is its query."""

from __future__ import annotations

import pytest

from freshtide.core.choosing import Learnt, Way
from freshtide.core.instants import micros
from freshtide.observe import explain
from freshtide.world import SystemClock
from tests.warehouse.choosing import record_of, teach, way_of
from tests.warehouse.shop import Shop

PER_KEY = "SELECT k, count(*) AS n, sum(v) AS total, max(ts) AS latest FROM a GROUP BY k"


def declared(shop: Shop, query: str = PER_KEY, **properties: str) -> Shop:
    shop.events("a")
    shop.view("per_key", query, **properties)
    return shop


def drop(shop: Shop, turn: int, rows: int = 4) -> None:
    content = [(turn * 100 + at, "xyz"[(turn + at) % 3], (turn * at) % 4) for at in range(rows)]
    shop.drop_events("a", f"{turn}.csv", content)
    shop.load()
    shop.check()


def learnt_of(shop: Shop) -> Learnt:
    return shop.warehouse.workbench.catalog.tables.get("per_key").learnt


def told_of(shop: Shop) -> str:
    bench = shop.warehouse.workbench
    told = explain(shop.warehouse.project, bench.catalog, "per_key", SystemClock().now())
    return next(sentence for sentence in told.sentences if sentence.startswith("Each update"))


@pytest.fixture
def per_key(shop: Shop) -> Shop:
    declared(shop)
    drop(shop, 0, rows=20)
    return shop


def test_a_small_view_is_computed_in_full_and_what_that_takes_is_written_down(per_key: Shop) -> None:
    drop(per_key, 1)
    assert way_of(per_key, "per_key") is Way.FULL
    assert [rows for rows, _ in learnt_of(per_key).full] == [20, 24]
    assert "whichever takes less time" in told_of(per_key)
    assert "The last one was computed in full: 24 rows take" in told_of(per_key)


def test_a_view_is_followed_as_soon_as_full_is_known_to_take_longer(per_key: Shop) -> None:
    teach(per_key, "per_key", dear=Way.FULL)
    drop(per_key, 1)
    # What is kept was made by this update, and is committed with it.
    assert way_of(per_key, "per_key") is Way.ANEW
    assert record_of(per_key, "per_key").states == {"per_key__0__state": record_of(per_key, "per_key").number}
    drop(per_key, 2)
    assert way_of(per_key, "per_key") is Way.CHANGES
    assert "The last one was from changes: 28 rows take" in told_of(per_key)
    assert [changed for changed, _ in learnt_of(per_key).changes][-1] == 4


def test_a_view_goes_back_to_full_and_trusts_nothing_of_what_was_kept(per_key: Shop) -> None:
    teach(per_key, "per_key", dear=Way.FULL)
    for turn in (1, 2):
        drop(per_key, turn)
    teach(per_key, "per_key", dear=Way.CHANGES)
    drop(per_key, 3)
    assert way_of(per_key, "per_key") is Way.FULL
    assert record_of(per_key, "per_key").states == {}
    teach(per_key, "per_key", dear=Way.FULL)
    ways = []
    for turn in (4, 5):
        drop(per_key, turn)
        ways.append(way_of(per_key, "per_key"))
    assert ways == [Way.ANEW, Way.CHANGES]


@pytest.mark.slow
def test_a_restart_forgets_nothing_of_it(per_key: Shop) -> None:
    teach(per_key, "per_key", dear=Way.FULL)
    for turn in (1, 2):
        drop(per_key, turn)
    before = learnt_of(per_key)
    again = declared(per_key.again())
    drop(again, 3)
    assert way_of(again, "per_key") is Way.CHANGES
    assert learnt_of(again).changes[: len(before.changes)] == before.changes


def test_where_most_rows_have_changed_all_are_read(per_key: Shop) -> None:
    teach(per_key, "per_key", dear=Way.FULL)
    for turn in (1, 2):
        drop(per_key, turn)
    drop(per_key, 3, rows=80)
    assert way_of(per_key, "per_key") is Way.FULL
    assert "80 of 108 rows of its sources have changed" in told_of(per_key)


@pytest.mark.slow
def test_a_rebuilt_source_is_most_of_it(per_key: Shop) -> None:
    teach(per_key, "per_key", dear=Way.FULL)
    for turn in (1, 2):
        drop(per_key, turn)
    per_key.warehouse.backfill("a")
    per_key.load()
    per_key.check()
    assert way_of(per_key, "per_key") is Way.FULL


@pytest.mark.parametrize(("fixed", "way"), [("full", Way.FULL), ("incremental", Way.CHANGES)])
def test_what_the_user_says_is_done(shop: Shop, fixed: str, way: Way) -> None:
    declared(shop, maintain=fixed)
    drop(shop, 0)
    teach(shop, "per_key", dear=way)
    for turn in (1, 2, 3):
        drop(shop, turn)
    assert way_of(shop, "per_key") is way


def test_an_operator_without_a_rule_keeps_a_view_in_full_and_is_named(shop: Shop) -> None:
    declared(shop, "SELECT k, max(v) AS top FROM a GROUP BY k LIMIT 1000")
    drop(shop, 0, rows=20)
    teach(shop, "per_key", dear=Way.FULL)
    for turn in (1, 2):
        drop(shop, turn)
        assert way_of(shop, "per_key") is Way.FULL
    assert "The last one was computed in full: LIMIT without ORDER BY has no rule." in told_of(shop)


def test_a_switch_that_was_interrupted_is_made_again(per_key: Shop) -> None:
    teach(per_key, "per_key", dear=Way.FULL)
    drop(per_key, 1)
    # The process died between the commit of what is kept and that of the view.
    per_key.warehouse.close()
    per_key.last_commit("per_key").unlink()
    again = declared(per_key.again())
    again.load()
    again.check()
    for turn in (2, 3, 4):
        teach(again, "per_key", dear=Way.FULL)
        drop(again, turn)
    assert way_of(again, "per_key") is Way.CHANGES


@pytest.mark.slow
def test_a_view_of_a_view_follows_both_ways(per_key: Shop) -> None:
    again = declared(per_key.again())
    again.view("tops", "SELECT max(total) AS top, count(*) AS keys FROM per_key")
    again.load()
    for turn, dear in enumerate((Way.FULL, Way.FULL, Way.CHANGES, Way.FULL, Way.FULL), start=1):
        teach(again, "per_key", dear=dear)
        teach(again, "tops", dear=Way.FULL)
        drop(again, turn)
    assert micros(again.freshness("tops") or 0.0) == micros(again.freshness("per_key") or 1.0)
