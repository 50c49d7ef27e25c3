"""What a project's history says about its future: arrivals, contention, staleness, and which scheduler to take."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from freshtide.core.costs import CostModel
from freshtide.planning import Prediction, predict, recommend, warehouse_model
from freshtide.planning.contention import at_once, learnt_contention
from freshtide.runs.patterns import arrival_pattern
from freshtide.scheduling import EdfPartitioned, GlobalAllocation, Policy
from tests.observe.shop import NOON, Shop

MINUTE, HOUR = 60.0, 3600.0
HORIZON = 100 * HOUR


def takes(seconds: float) -> CostModel:
    return CostModel.learnt_from([(5 * MINUTE, seconds)] * 5)


def delivers(shop: Shop, name: str, period: float, delay: float, *, files: int = 10) -> None:
    """So many files, each registered so long after its time stamp."""
    for number in range(files):
        stamp = (number - files) * period
        shop.arrives(name, f"{name}{number}.csv", stamp, at=stamp + delay)


def costs(shop: Shop, seconds: float, *names: str) -> None:
    for name in names or shop.project.graph:
        shop.is_fresh(name, 0.0, cost=takes(seconds))


def predicted(shop: Shop, policy: Policy | None = None, *, tracks: int = 4) -> Prediction:
    return predict(
        warehouse_model(shop.project, shop.catalog), policy or Policy(), tracks=tracks, horizon=HORIZON, scheduler="it"
    )


def test_arrivals_are_expected_as_they_came(shop: Shop) -> None:
    delivers(shop, "orders", 4 * MINUTE, 3.0)
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=0.1)
    assert pattern.learnt
    assert pattern.period == pytest.approx(4 * MINUTE)
    assert pattern.delay == pytest.approx(3.0)


def test_without_history_arrivals_are_expected_as_declared(shop: Shop) -> None:
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=0.2)
    assert not pattern.learnt
    assert pattern.period == 5 * MINUTE
    assert pattern.delay == pytest.approx(1.0 + 0.1), "a file settles for a second and is found half a poll later"


def test_what_piled_up_while_nothing_ran_says_nothing_about_the_feed(shop: Shop) -> None:
    for number in range(50):
        shop.arrives("orders", f"old{number}.csv", -20 * HOUR + number * 5 * MINUTE, at=-1 * HOUR)
    delivers(shop, "orders", 5 * MINUTE, 2.0)
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=0.1)
    assert pattern.period == pytest.approx(5 * MINUTE)
    assert pattern.delay == pytest.approx(2.0)


def test_irregular_arrivals_stay_irregular(shop: Shop) -> None:
    stamp = 0.0
    for number in range(40):
        stamp += MINUTE if number % 2 else 3 * MINUTE
        shop.arrives("orders", f"{number}.csv", stamp, at=stamp + number % 3)
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=0.1)
    files = list(itertools.islice(pattern.files(since=NOON + stamp, length=2 * HOUR), 30))
    distances = [after - before for (_, before), (_, after) in itertools.pairwise([(0.0, 0.0), *files])]
    assert distances == pytest.approx([MINUTE, 3 * MINUTE] * 15)
    assert [moment - stamp for moment, stamp in files] == pytest.approx([1.0, 2.0, 0.0] * 10, abs=1e-6)


def test_rare_long_waits_and_old_stamps_come_again_as_often_as_they_came(shop: Shop) -> None:
    """What comes by chance is now and then silent for long, and now and then brings a file that is old."""
    chance, at = random.Random(5), 0.0
    came = []
    for number in range(300):
        at += chance.expovariate(1.0 / MINUTE)
        age = chance.uniform(0.0, HOUR) if chance.random() < 0.2 else chance.uniform(0.0, 5.0)
        came.append((at, at - age))
        shop.arrives("orders", f"{number}.csv", at - age, at=at)
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=1.0)
    expected = list(pattern.files(since=NOON + at, length=at - came[0][0]))
    again = [(moment + at, stamp + at) for moment, stamp in expected]
    # The first one came after nobody knows what.
    assert [moment - before for before, moment in itertools.pairwise([at, *(moment for moment, _ in again)])] == (
        pytest.approx([moment - before for (before, _), (moment, _) in itertools.pairwise(came)])
    )
    ages = [moment - stamp for moment, stamp in came[1:]]
    assert [moment - stamp for moment, stamp in again] == pytest.approx(ages, abs=1e-6)


def test_a_night_without_a_run_is_no_habit_of_an_irregular_feed(shop: Shop) -> None:
    chance, at, number = random.Random(6), 0.0, 0
    for day in range(3):
        for _ in range(60):
            at, number = at + chance.expovariate(1.0 / MINUTE), number + 1
            shop.arrives("orders", f"{number}.csv", at - 2.0, at=at)
        if day < 2:
            morning = at + 10 * HOUR
            while at < morning - MINUTE:
                at, number = at + chance.expovariate(1.0 / MINUTE), number + 1
                shop.arrives("orders", f"{number}.csv", min(at, morning) - 2.0, at=morning)
            at = morning
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=1.0)
    assert pattern.period == pytest.approx(MINUTE, rel=0.2)
    assert max(pattern.gaps) < 10 * MINUTE
    assert pattern.delays == pytest.approx([2.0] * len(pattern.delays), abs=1e-6)


def test_a_feed_that_leaves_out_every_fourth_file_will_do_so_again(shop: Shop) -> None:
    for number in range(40):
        if number % 4:
            shop.arrives("orders", f"{number}.csv", number * MINUTE, at=number * MINUTE + 2.0)
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=1.0)
    assert pattern.period == pytest.approx(4 / 3 * MINUTE, rel=0.03)
    assert max(pattern.gaps) == pytest.approx(2 * MINUTE)


def test_a_single_outage_of_a_steady_feed_is_none_of_its_habits(shop: Shop) -> None:
    for number in range(40):
        if not 10 <= number < 25:
            shop.arrives("orders", f"{number}.csv", number * MINUTE, at=number * MINUTE + 2.0)
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=1.0)
    assert list(pattern.gaps) == pytest.approx([MINUTE])


def test_files_that_are_on_their_way_come_before_those_that_are_stamped_later(shop: Shop) -> None:
    """An hour old when they come, each ten minutes: there are always six on their way."""
    delivers(shop, "orders", 10 * MINUTE, HOUR, files=20)
    pattern = arrival_pattern(shop.project.feeds["orders_feed"], shop.catalog, poll=1.0)
    now = -10 * MINUTE + HOUR
    moments, stamps = zip(*pattern.files(since=NOON + now, length=HOUR), strict=True)
    assert moments[:6] == pytest.approx([number * 10 * MINUTE for number in range(1, 7)])
    assert stamps[:6] == pytest.approx([number * 10 * MINUTE - HOUR for number in range(1, 7)])


def test_nothing_is_fresher_than_now_where_the_clock_of_a_feed_is_ahead(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, -20.0)
    costs(shop, 10.0)
    result = predicted(shop).result
    assert result is not None
    orders = result.staleness["orders"]
    assert min(orders.starts) >= 0.0
    assert orders.maximum == pytest.approx(5 * MINUTE + 10.0)


def test_spans_are_counted_while_they_overlap() -> None:
    assert at_once([(0, 4), (2, 4), (10, 11), (5, 5)]) == [1.5, 2.0, 1.0, 1.0]


@pytest.mark.parametrize(("beside", "growth"), [(10.0, 0.0), (15.0, 0.5), (20.0, 1.0)])
def test_updates_that_take_longer_beside_others_are_noticed(shop: Shop, beside: float, growth: float) -> None:
    """Alone an update takes 10 seconds; beside another both take `beside`."""
    for number in range(200):
        start = 100.0 * number
        for name in ("orders", "clicks") if number % 2 else ("orders",) if number % 4 else ("clicks",):
            took = beside if number % 2 else 10.0
            update = shop.runs(name, since=start, from_freshness=1.0)
            shop.catalog.updates.finish(update, at=NOON + start + took, freshness=2.0, rows=1)
    found = learnt_contention(shop.catalog)
    assert found.growth == pytest.approx(growth, abs=0.1)
    assert found.factor(found.usual) == pytest.approx(1.0)
    assert found.factor(1.0) == pytest.approx(1.0 / (1.0 + growth * (found.usual - 1.0)), rel=0.1)


def test_a_base_table_is_as_stale_as_period_delay_and_update_make_it(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    costs(shop, 10.0)
    result = predicted(shop).result
    assert result is not None
    assert result.staleness["orders"].maximum == pytest.approx(5 * MINUTE + 13.0)
    assert result.staleness["orders"].mean == pytest.approx(2.5 * MINUTE + 13.0, rel=0.01)


def test_a_view_follows_its_slowest_source_and_closed_buckets_close_at_the_full_hour(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    delivers(shop, "clicks", HOUR, 3.0)
    costs(shop, 10.0)
    result = predicted(shop).result
    assert result is not None
    assert result.staleness["sales"].maximum == pytest.approx(HOUR + 23.0, abs=12.0)
    # The last order before the full hour is stamped just then; a bucket is over when the one after it comes.
    assert result.staleness["hourly"].mean > 0.5 * HOUR
    assert result.staleness["hourly"].updates == pytest.approx(HORIZON / HOUR, abs=2)


def test_late_data_holds_views_back(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    delivers(shop, "clicks", HOUR, 3.0)
    costs(shop, 10.0)
    model = warehouse_model(shop.project, shop.catalog)
    late = {**model.tables, "clicks": replace(model.tables["clicks"], lateness=10 * MINUTE)}
    on_time, held_back = (
        predict(replace(model, tables=tables), Policy(), tracks=4, horizon=HORIZON).result
        for tables in (model.tables, late)
    )
    assert on_time is not None
    assert held_back is not None
    more = held_back.staleness["sales"].mean - on_time.staleness["sales"].mean
    assert more == pytest.approx(10 * MINUTE, rel=0.05)


def test_paused_tables_and_their_dependents_are_left_out(shop: Shop) -> None:
    shop.is_fresh("clicks", 0.0, status="paused")
    model = warehouse_model(shop.project, shop.catalog)
    assert set(model.left_out) == {"clicks", "sales", "large_sales"}
    assert set(model.tables) == {"orders", "hourly"}


def test_the_fewest_tracks_that_keep_every_target_lag_are_recommended(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    delivers(shop, "clicks", 10 * MINUTE, 3.0)
    # On one track, orders may have to wait four minutes: 5 + 4 + 4 are more than their target lag of ten.
    costs(shop, 4 * MINUTE)
    model = warehouse_model(shop.project, shop.catalog)
    predictions = [
        predict(model, policy, tracks=tracks, horizon=HORIZON, scheduler=name)
        for name, policy in {"fifo": Policy(ordering="fifo"), "max-benefit": Policy()}.items()
        for tracks in (1, 2, 3, 8)
    ]
    advice = recommend(model, predictions, horizon=HORIZON, seed=0)
    assert advice is not None
    keeping = [p for p in predictions if p.keeps_all]
    assert advice.best.keeps_all
    assert advice.best.tracks == min(p.tracks for p in keeping) > 1
    assert "Every target lag is kept with" in advice.sentences[0]
    assert not advice.obstacles


def test_a_target_that_nothing_keeps_is_explained_by_what_stands_in_its_way(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    delivers(shop, "clicks", HOUR, 3.0)
    costs(shop, 10.0)
    model = warehouse_model(shop.project, shop.catalog)
    advice = recommend(model, [predicted(shop)], horizon=HORIZON, seed=0)
    assert advice is not None
    (obstacle,) = advice.obstacles
    assert obstacle.table == "sales"
    assert "its source 'clicks' gets up to 1h stale" in obstacle.why
    assert advice.best.broken == ("sales",)


def test_an_update_too_slow_for_its_target_is_explained_by_its_cost(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    costs(shop, 10.0)
    costs(shop, 6 * MINUTE, "orders")
    advice = recommend(warehouse_model(shop.project, shop.catalog), [predicted(shop)], horizon=HORIZON, seed=0)
    assert advice is not None
    (orders,) = (obstacle for obstacle in advice.obstacles if obstacle.table == "orders")
    assert "'orders' gets data every 5m, 3s old, and an update takes 6m" in orders.why


def test_a_partition_that_does_not_fit_is_no_candidate(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    costs(shop, 4 * MINUTE)
    impossible = predicted(shop, Policy(allocation=EdfPartitioned()))
    assert impossible.result is None
    assert impossible.shortage is not None
    model = warehouse_model(shop.project, shop.catalog)
    assert recommend(model, [impossible], horizon=HORIZON, seed=0) is None
    possible = predicted(shop, Policy(allocation=GlobalAllocation()))
    advice = recommend(model, [impossible, possible], horizon=HORIZON, seed=0)
    assert advice is not None
    assert advice.best is possible


def test_from_now_on_tables_begin_as_they_stand_and_what_waits_is_loaded_first(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    delivers(shop, "clicks", HOUR, 3.0)
    costs(shop, 10.0)
    # Of the last ten files of orders nine are loaded.
    shop.is_fresh("orders", -10 * MINUTE, cost=takes(10.0))
    shop.is_fresh("clicks", -HOUR, cost=takes(20.0), status="paused")
    shop.is_fresh("hourly", -HOUR, cost=takes(5.0), status="failed")
    model = warehouse_model(shop.project, shop.catalog, now=NOON + MINUTE)
    assert model.left_out == ()
    orders = model.tables["orders"].standing
    assert orders.freshness == -11 * MINUTE
    assert set(orders.pending) == {(number - 10) * 5 * MINUTE - MINUTE for number in range(10)}
    result = predict(model, Policy(chopping=None), tracks=2, horizon=HOUR).result
    assert result is not None
    # Ten seconds for the newest that has come, stamped five minutes before noon.
    assert result.staleness["orders"].moments[0] == pytest.approx(10.0)
    assert result.staleness["orders"].freshnesses[0] == pytest.approx(-6 * MINUTE)
    assert result.staleness["orders"].starts[0] == 11 * MINUTE
    for idle in ("clicks", "hourly"):
        assert result.staleness[idle].updates == 0
        assert result.staleness[idle].final == pytest.approx(HOUR + MINUTE + HOUR)


def test_files_that_no_run_has_seen_wait_as_well(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    shop.is_fresh("orders", -5 * MINUTE, cost=takes(10.0))
    landing = shop.project.root / "landing" / "orders"
    landing.mkdir(parents=True, exist_ok=True)
    for number in range(3):
        (landing / f"new{number}.csv").write_text("day,amount\n")
    model = warehouse_model(shop.project, shop.catalog, now=NOON + HOUR)
    pending = model.tables["orders"].standing.pending
    assert pending[-3:] == pytest.approx([-HOUR, -HOUR + 5 * MINUTE, -HOUR + 10 * MINUTE])


def test_what_was_learnt_is_learnt_on(shop: Shop) -> None:
    delivers(shop, "orders", 5 * MINUTE, 3.0)
    costs(shop, 10.0)
    model = warehouse_model(shop.project, shop.catalog, now=NOON)
    assert model.tables["orders"].believed == takes(10.0)
    assert model.with_cost("orders", 1.0, 0.0).tables["orders"].believed is None
    assert warehouse_model(shop.project, shop.catalog).tables["orders"].believed is None
