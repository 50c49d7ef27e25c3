"""Updates are cut by time: by what the targets of the others leave, and never where their cost is mostly fixed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freshtide.core.costs import CostModel, GivenCost
from freshtide.scheduling import TARGET_LAGS, Policy, ScheduledTable

from .bench import Bench, arrival, table


def fresh(name: str, *sources: str, **changes: Any) -> ScheduledTable:
    return table(name, *sources, **{"freshness": 0.0, "safe": 0.0, "period": 10.0, **changes})


def stamps(count: int, period: float = 10.0) -> list[float]:
    return [period * number for number in range(1, count + 1)]


def pieces(bench: Bench) -> list[float]:
    """How far the updates of a view go that takes 0.1s and a second for each second of data."""
    reached = [0.0]
    while "view" in bench.running:
        reached.append(bench.running["view"].upto)
        bench.finishes("view", seconds=0.1 + reached[-1] - reached[-2])
    return reached[1:]


def test_a_piece_takes_a_third_of_what_the_tightest_target_leaves() -> None:
    """The other is 10s stale by itself and takes 1s: of 71s 60s are left, and an update may take a third."""
    bench = Bench(fresh("long", beta=0.8), fresh("tight", target=71.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].upto == 20.0, "20s of work, of which 1s is fixed, are 23s of data: two files"
    bench = Bench(fresh("long", beta=0.1), fresh("tight", target=71.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].upto == 190.0


def test_a_piece_is_no_longer_than_saves_fixed_costs() -> None:
    """A third of what is left would be 330s, of which 0.1s is fixed: ten seconds are as good, and nobody waits."""
    bench = Bench(fresh("long", alpha=0.1, beta=0.1), fresh("patient", target=1_001.0), policy=TARGET_LAGS)
    bench.at(10_000.0).arrives("long", *stamps(900))
    assert bench.running["long"].upto == 90.0, "9.9s of work beyond what is fixed"
    bench = Bench(fresh("long", alpha=1.0, beta=0.1), fresh("patient", target=1_001.0), policy=TARGET_LAGS)
    bench.at(10_000.0).arrives("long", *stamps(900))
    assert bench.running["long"].upto == 630.0, "64 fixed costs"


def test_pieces_are_longer_where_the_tables_would_not_keep_up_by_short_ones() -> None:
    """By its data alone the table takes 0.95 of the track, and each update a second more."""
    bench = Bench(fresh("long", beta=0.95), fresh("tight", target=35.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].upto == 20.0, "a third of 24s would be one file, and never enough"


def test_what_costs_the_same_however_much_it_loads_is_never_cut() -> None:
    bench = Bench(fresh("fixed", alpha=5.0), fresh("tight", target=12.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("fixed", *stamps(90))
    assert bench.running["fixed"].upto == 900.0


def test_a_piece_is_eight_fixed_costs_long_however_tight_the_others_are() -> None:
    bench = Bench(fresh("long", alpha=5.0, beta=0.1), fresh("tight", target=12.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].upto == 350.0, "35s beyond the fixed 5s"


def test_alone_a_table_takes_all() -> None:
    bench = Bench(fresh("long", beta=1.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].upto == 900.0


def test_a_paused_table_cannot_be_kept_waiting() -> None:
    bench = Bench(fresh("long", beta=1.0), fresh("tight", target=71.0), policy=TARGET_LAGS)
    bench.pauses("tight")
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].upto == 900.0


def test_a_first_backlog_goes_in_pieces_once_its_first_is_there() -> None:
    bench = Bench(table("long", beta=0.1, period=10.0), fresh("tight", target=71.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("long", 10.0)
    bench.happens(*(arrival("long", stamp) for stamp in stamps(90)[1:]))
    bench.finishes("long")
    assert bench.running["long"].upto == 200.0


@pytest.mark.parametrize("policy", [TARGET_LAGS, replace(TARGET_LAGS, chopping=3.0)])
def test_a_view_that_is_computed_whole_by_every_update_is_never_cut(policy: Policy) -> None:
    """It takes longer with the data behind it, which looks like a cost that grows with what it gains."""
    bench = Bench(
        fresh("base", freshness=485.0, safe=485.0, target=1_000.0),
        replace(fresh("view", "base", computes_whole=True), cost=GivenCost(0.1, 1.0)),
        fresh("tight", target=20.0),
        policy=policy,
    )
    bench.at(1_000.0).happens()
    assert bench.running["view"].within is None, "nobody else is to cut it either"
    assert pieces(bench) == [485.0]


@pytest.mark.parametrize("policy", [TARGET_LAGS, replace(TARGET_LAGS, chopping=3.0)])
def test_a_view_whose_trailing_edge_leaps_is_cut_in_between(policy: Policy) -> None:
    """One large file, or a backlog before a restart: where the edge has been in between, nobody knows."""
    bench = Bench(
        fresh("base", freshness=485.0, safe=485.0, target=1_000.0),
        replace(fresh("view", "base"), cost=GivenCost(0.1, 1.0)),
        fresh("tight", target=102.8),
        policy=policy,
    )
    bench.at(1_000.0).happens()
    reached = pieces(bench)
    assert reached[-1] == 485.0
    steps = [after - before for before, after in zip([0.0, *reached], reached, strict=False)]
    assert max(steps) == pytest.approx(9.9 if policy is TARGET_LAGS else 30.0, abs=0.2)


def test_a_view_is_cut_where_its_buckets_let_it() -> None:
    """Buckets of 100s: a piece of 30s would close none, and so a piece is one bucket long."""
    bench = Bench(
        fresh("base", freshness=485.0, safe=485.0),
        fresh("view", "base", alpha=0.1, beta=1.0),
        policy=replace(TARGET_LAGS, chopping=3.0),
        reach=lambda _name, cut: cut // 100.0 * 100.0 or None,
    )
    bench.at(1_000.0).happens()
    assert pieces(bench) == [100.0, 200.0, 300.0, 400.0]


def test_chance_is_not_taken_for_a_cost_that_grows() -> None:
    """Updates of a fixed cost that differ by chance: a line through them may be steep, and nothing is cut for that."""
    bench = Bench(
        ScheduledTable(name="noisy", period=10.0, freshness=0.0, safe=0.0, cost=CostModel()),
        fresh("tight", target=20.0),
        policy=TARGET_LAGS,
    )
    now, stamp = 10.0, 0.0
    for files, seconds in ((1, 1.0), (2, 3.0), (1, 1.4), (3, 2.9), (2, 0.9), (1, 1.2)):
        bench.at(now).arrives("noisy", *(stamp + 10.0 * number for number in range(1, files + 1)))
        stamp, now = stamp + 10.0 * files, now + 50.0
        bench.finishes("noisy", seconds=seconds)
    bench.at(now).arrives("noisy", *(stamp + 10.0 * number for number in range(1, 500)))
    updates, newest = 0, stamp + 4_990.0
    while "noisy" in bench.running:
        updates += 1
        bench.finishes("noisy", seconds=(1.0, 3.0, 1.5)[updates % 3])
    assert bench.scheduler.look("noisy").freshness == newest
    assert updates < 20, "twice as much at a time until it is known that it takes no longer"


def test_a_cost_that_grows_is_learnt_and_cut() -> None:
    bench = Bench(
        ScheduledTable(name="growing", period=10.0, freshness=0.0, safe=0.0, cost=CostModel()),
        fresh("tight", target=71.0),
        policy=TARGET_LAGS,
    )
    now, stamp = 10.0, 0.0
    for files in (1, 2, 1, 3, 2, 4):
        bench.at(now).arrives("growing", *(stamp + 10.0 * number for number in range(1, files + 1)))
        stamp, now = stamp + 10.0 * files, now + 50.0
        bench.finishes("growing", seconds=1.0 + 0.1 * 10.0 * files)
    bench.at(now).arrives("growing", *(stamp + 10.0 * number for number in range(1, 500)))
    took = []
    while "growing" in bench.running:
        upto = bench.running["growing"].upto
        took.append(1.0 + 0.1 * (upto - stamp))
        stamp = upto
        bench.finishes("growing", seconds=took[-1])
    assert max(took) < 2.0 * 19.5, "the tight one leaves 60s, and a third of that is for an update"
    assert 15.0 < sum(took) / len(took) < 21.0


def _backlog_beside_a_broken_target(*, fixed: float, slope: float, files: int) -> list[float]:
    """What the updates take that load a backlog, a file of 10s each, beside a table that cannot keep its target."""
    bench = Bench(
        ScheduledTable(name="behind", period=10.0, freshness=0.0, safe=0.0, cost=CostModel()),
        fresh("broken", target=11.0),
        policy=TARGET_LAGS,
    )
    stamp = 0.0
    for number in range(1, 21):
        stamp = 10.0 * number
        bench.at(stamp).arrives("behind", stamp)
        bench.finishes("behind", seconds=fixed + slope)
    bench.at(stamp + 10.0 * files).arrives("behind", *(stamp + 10.0 * number for number in range(1, files + 1)))
    took = []
    while "behind" in bench.running:
        upto = bench.running["behind"].upto
        took.append(fixed + slope * (upto - stamp) / 10.0)
        stamp = upto
        bench.finishes("behind", seconds=took[-1])
    return took


def test_a_backlog_is_not_cut_into_crumbs_for_a_target_that_is_broken_anyway() -> None:
    """An update of 0.6s is longer than what a broken target affords, and still most of it is fixed."""
    took = _backlog_beside_a_broken_target(fixed=0.6, slope=0.002, files=600)
    assert len(took) <= 15
    assert max(took) < 8.0 * 0.6


def test_beside_a_broken_target_no_piece_is_much_longer_than_eight_fixed_costs() -> None:
    took = _backlog_beside_a_broken_target(fixed=0.6, slope=0.2, files=600)
    assert max(took) < 1.5 * 8.0 * 0.6
    assert sum(took) < 1.35 * (0.6 + 0.2 * 600.0), "cutting costs an eighth, and some more while nothing is known"


def test_a_dear_first_backlog_grows_by_small_steps_while_nobody_knows_what_is_fixed() -> None:
    """Three updates of 9s for 80s of data could be all fixed, or not at all: larger ones would keep others waiting."""
    bench = Bench(
        ScheduledTable(name="dear", period=10.0, freshness=0.0, safe=0.0, cost=CostModel()),
        fresh("tight", target=11.0),
        policy=TARGET_LAGS,
    )
    bench.at(6_000.0).arrives("dear", *stamps(600))
    took, stamp = [], 0.0
    for _ in range(4):
        upto = bench.running["dear"].upto
        took.append(9.0 * (upto - stamp) / 80.0)
        stamp = upto
        bench.finishes("dear", seconds=took[-1])
    assert max(took) < 2.0 * 9.0


def test_a_command_says_how_long_its_update_may_take() -> None:
    """The tight one leaves 60s: a third of that, or eight fixed costs; no limit where nobody else waits."""
    bench = Bench(fresh("long", beta=0.1), fresh("tight", target=71.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].within == pytest.approx(20.0)
    bench = Bench(fresh("dear", alpha=5.0), fresh("tight", target=12.0), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("dear", *stamps(90))
    assert bench.running["dear"].within == pytest.approx(40.0)
    bench = Bench(fresh("alone"), policy=TARGET_LAGS)
    bench.at(1_000.0).arrives("alone", *stamps(90))
    assert bench.running["alone"].within is None
    bench = Bench(fresh("long"), fresh("tight", target=71.0))
    bench.at(1_000.0).arrives("long", *stamps(90))
    assert bench.running["long"].within is None, "without chopping by slack nobody asks what others can wait"


def test_a_first_load_and_an_update_stream_are_told_how_long_they_may_take() -> None:
    """Neither can be cut by time stamps: the one has none to go on from, of the other all that waits is one piece."""
    for long in (table("long", alpha=0.1, period=10.0), fresh("long", alpha=0.1, update_stream=True)):
        bench = Bench(long, fresh("tight", target=71.0), policy=TARGET_LAGS)
        bench.at(1_000.0).arrives("long", *stamps(90))
        assert bench.running["long"].upto == 900.0
        assert bench.running["long"].within == pytest.approx(10.0), "more would save nothing"
