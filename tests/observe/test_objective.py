"""Staleness and lateness weighted by priority, now and over the last hour, and how much of it was within targets."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from freshtide.catalog import LatestStreamRow
from freshtide.observe import LastHour, Objective

from .shop import NOON, Shop, write_project

HOUR = 3_600.0


def moves(shop: Shop, name: str, *commits: tuple[float, float], before: float | None) -> None:
    """A table is committed at some moments, each with what it has reached by then."""
    for at, freshness in commits:
        start = None if before is None else NOON + before
        update = shop.runs(name, since=at - 1.0, from_freshness=start)
        shop.catalog.updates.finish(update, at=NOON + at, freshness=NOON + freshness, rows=1)
        before = freshness
    shop.is_fresh(name, before)


def hour_of(shop: Shop, at: float = 0.0) -> LastHour:
    hour = shop.status(at).hour
    assert hour is not None
    return hour


def test_now_it_is_the_sum_of_priority_times_staleness_and_of_what_is_beyond_targets(shop: Shop) -> None:
    shop.is_fresh("orders", -700.0)  # Priority 5, target lag 10m.
    shop.is_fresh("clicks", -40.0)  # Priority 1, no target lag.
    shop.is_fresh("sales", -60.0)  # Priority 1, target lag 1h.
    assert shop.status().objective == Objective(weighted_staleness=5 * 700.0 + 40.0 + 60.0, weighted_lateness=5 * 100.0)
    only = shop.status(select=("clicks", "sales")).objective
    assert only == Objective(weighted_staleness=100.0, weighted_lateness=0.0)


def test_tables_that_never_had_data_do_not_count(shop: Shop) -> None:
    status = shop.status()
    assert status.objective == Objective(weighted_staleness=0.0, weighted_lateness=0.0)
    assert status.hour == LastHour(until=NOON)
    assert status.as_json()["objective"]["last_hour"] is None


def test_a_table_that_was_left_alone_is_within_its_target_until_it_is_not(shop: Shop) -> None:
    """No run need go on for that: fresh up to an hour ago, it was within 10 minutes for the first 10 of 60."""
    shop.is_fresh("orders", -HOUR)
    hour = hour_of(shop)
    assert hour.tables["orders"].share_within == pytest.approx(1 / 6)
    assert hour.is_whole("orders")
    assert hour.objective is not None
    assert hour.objective.weighted_staleness == pytest.approx(5 * 1_800.0)
    assert hour.objective.weighted_lateness == pytest.approx(5 * 3_000.0**2 / 2 / HOUR)


def test_what_was_committed_in_the_hour_counts_from_then_on(shop: Shop) -> None:
    moves(shop, "orders", (-7_000.0, -7_000.0), (-2_400.0, -2_400.0), (-600.0, -900.0), before=-8_000.0)
    found = hour_of(shop).tables["orders"]
    # Within 10 minutes: none before the second commit, 600 s after it, 300 s after the third, which was 300 s old.
    assert found.within == pytest.approx(600.0 + 300.0)
    assert found.length == pytest.approx(HOUR)
    assert found.mean_staleness * HOUR == pytest.approx(
        1_200.0 * (3_400.0 + 4_600.0) / 2 + 1_800.0 * 1_800.0 / 2 + 600.0 * (300.0 + 900.0) / 2
    )


def test_a_table_counts_from_when_it_first_had_data(shop: Shop) -> None:
    moves(shop, "orders", (-900.0, -900.0), before=None)
    moves(shop, "clicks", (-300.0, -300.0), before=None)
    hour = hour_of(shop)
    assert (hour.tables["orders"].since, hour.tables["orders"].length) == (NOON - 900.0, 900.0)
    assert not hour.is_whole("orders")
    assert hour.tables["orders"].share_within == pytest.approx(600.0 / 900.0)
    assert hour.since == NOON - 900.0
    assert hour.objective is not None
    assert hour.objective.weighted_staleness == pytest.approx((5 * 900.0**2 / 2 + 300.0**2 / 2) / 900.0)


def test_a_table_that_was_taken_out_counts_from_when_it_came_back(shop: Shop) -> None:
    moves(shop, "orders", (-3_000.0, -3_000.0), (-300.0, -300.0), before=-3_300.0)
    shop.is_fresh("orders", -300.0, since=NOON - 900.0)
    found = hour_of(shop).tables["orders"]
    # It was 35 minutes stale when it came back, and within its target of 10 minutes from the second commit on.
    assert (found.since, found.length) == (NOON - 900.0, 900.0)
    assert found.within == pytest.approx(300.0)
    assert found.mean_staleness * 900.0 == pytest.approx(600.0 * (2_100.0 + 2_700.0) / 2 + 300.0 * 300.0 / 2)
    assert not hour_of(shop).is_whole("orders")


def test_an_interrupted_update_has_moved_its_table_as_far_as_the_next_one_found_it(shop: Shop) -> None:
    shop.runs("orders", since=-3_000.0, from_freshness=NOON - 3_600.0)
    shop.catalog.updates.interrupt_running(NOON - 2_400.0)
    shop.is_fresh("orders", -2_400.0)
    assert hour_of(shop).tables["orders"].within == pytest.approx(600.0 + 600.0)
    update = shop.runs("orders", since=-1_300.0, from_freshness=NOON - 3_600.0)
    shop.catalog.updates.finish(update, at=NOON - 1_200.0, freshness=NOON - 1_200.0, rows=1)
    shop.is_fresh("orders", -1_200.0)
    assert hour_of(shop).tables["orders"].within == pytest.approx(600.0 + 600.0), "it had not landed after all"


def test_failed_updates_move_nothing_and_updates_of_the_future_have_not_been(shop: Shop) -> None:
    shop.is_fresh("orders", -HOUR)
    shop.catalog.updates.fail(shop.runs("orders", since=-100.0), at=NOON - 90.0, error="disk full")
    shop.ran("orders", since=50.0, until=60.0, freshness=50.0)
    # The clock was set back by a day since: what it began from is all that is known of it.
    assert hour_of(shop).tables["orders"].share_within == pytest.approx(1 / 6)


def test_the_past_of_update_tables_is_not_known_and_left_out(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    text = "CREATE STREAMING TABLE newest TBLPROPERTIES ('update_key' = 'id') AS SELECT * FROM STREAM orders_feed;"
    (root / "tables" / "newest.sql").write_text(text, encoding="utf-8")
    shop = Shop.open(root)
    shop.is_fresh("newest", -500.0)
    shop.catalog.streams.put("newest", LatestStreamRow(pending_since=NOON - 8.0))
    status = shop.status()
    assert status.objective.weighted_staleness == 8.0, "how long its oldest update has waited"
    assert status.hour == LastHour(until=NOON)
    shop.close()


def test_programs_get_shares_with_the_time_that_they_are_of(shop: Shop) -> None:
    moves(shop, "orders", (-900.0, -900.0), before=None)
    shop.is_fresh("clicks", -HOUR)
    written = json.loads(json.dumps(shop.status().as_json()))
    tables = {table["name"]: table["last_hour"] for table in written["tables"]}
    assert tables["orders"] == {
        "since": "2026-05-01T11:45:00Z",
        "seconds": 900.0,
        "mean_staleness": pytest.approx(450.0),
        "share_within_target": pytest.approx(2 / 3),
    }
    assert (tables["clicks"]["seconds"], tables["clicks"]["share_within_target"]) == (HOUR, None)
    assert tables["sales"] is None
    assert written["objective"]["now"] == {
        "weighted_staleness": pytest.approx(5 * 900.0 + HOUR),
        "weighted_lateness": pytest.approx(5 * 300.0),
    }
    assert written["objective"]["last_hour"]["since"] == "2026-05-01T11:00:00Z"
    assert written["objective"]["last_hour"]["seconds"] == HOUR


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_looking_at_every_second_gives(shop: Shop, seed: int) -> None:
    rng = random.Random(seed)
    past: dict[str, list[tuple[float, float]]] = {}
    for name in ("orders", "sales", "hourly"):
        moments = sorted(rng.sample(range(-5_000, 0), rng.randint(1, 40)))
        past[name] = [(float(at), float(at - rng.randint(0, 900))) for at in moments]
        moves(shop, name, *past[name], before=None)
    hour = hour_of(shop)
    priorities, targets = {"orders": 5.0, "sales": 1.0, "hourly": 1.0}, {"orders": 600.0, "sales": 3_600.0}
    staleness = lateness = 0.0
    seconds_with_data = 0
    within = dict.fromkeys(targets, 0)
    for second in range(-3_600, 0):
        at = second + 0.5
        loaded = {name: [reached for moment, reached in commits if moment < at] for name, commits in past.items()}
        lags = {name: at - reached[-1] for name, reached in loaded.items() if reached}
        seconds_with_data += bool(lags)
        staleness += sum(priorities[name] * lag for name, lag in lags.items())
        lateness += sum(
            priorities[name] * max(0.0, lag - targets[name]) for name, lag in lags.items() if name in targets
        )
        for name, target in targets.items():
            within[name] += name in lags and lags[name] <= target
    assert hour.objective is not None
    assert hour.objective.weighted_staleness == pytest.approx(staleness / seconds_with_data)
    assert hour.objective.weighted_lateness == pytest.approx(lateness / seconds_with_data)
    assert {name: hour.tables[name].within for name in targets} == pytest.approx(within)
