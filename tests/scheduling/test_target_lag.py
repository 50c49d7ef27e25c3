"""Target lags steer, and nobody starves."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from freshtide.core.costs import CostModel
from freshtide.scheduling import TARGET_LAGS, TARGET_PERIODS, RetryPolicy, ScheduledTable

from .bench import Bench, arrival, table

DIRECT = replace(TARGET_LAGS, chopping=None)


def bench(*tables: ScheduledTable, tracks: int = 1) -> Bench:
    """With a table that keeps the only track busy until it is told to end."""
    found = Bench(table("busy", freshness=0.0, safe=0.0), *tables, tracks=tracks, policy=DIRECT)
    found.at(1.0).arrives("busy", 1.0)
    return found


def fresh(name: str, *sources: str, **changes: Any) -> ScheduledTable:
    return table(name, *sources, **{"freshness": 0.0, "safe": 0.0, "period": 10.0, **changes})


def first_of(found: Bench, now: float, **stamps: float) -> str:
    found.at(now).happens(*(arrival(name, stamp) for name, stamp in stamps.items()))
    (chosen,) = found.finishes("busy")
    return chosen


def test_far_from_their_targets_tables_compete_by_priority_gain_and_cost() -> None:
    found = bench(fresh("low", target=1e4), fresh("high", target=1e4, priority=2.0))
    assert first_of(found, 11.0, low=10.0, high=10.0) == "high"
    found = bench(fresh("dear", target=1e4, alpha=2.0), fresh("cheap", target=1e4))
    assert first_of(found, 11.0, dear=10.0, cheap=10.0) == "cheap"
    found = bench(fresh("little", target=1e4), fresh("much", target=1e4))
    assert first_of(found, 11.0, little=4.0, much=10.0) == "much"


def test_the_nearer_to_its_target_the_more_a_table_counts() -> None:
    found = bench(fresh("calm", target=100.0, priority=3.0), fresh("urgent", target=12.0))
    assert first_of(found, 11.0, calm=10.0, urgent=10.0) == "urgent"


def test_beyond_its_target_a_table_is_not_given_up() -> None:
    found = bench(fresh("lost", target=5.0), fresh("near", target=20.0))
    found.happens(arrival("lost", 1.0), arrival("near", 1.0))
    assert first_of(found, 19.0, lost=18.0, near=18.0) == "lost"


def test_a_table_without_target_lag_has_three_periods() -> None:
    for sooner, expected in ((TARGET_PERIODS * 10.0 - 1.0, "set"), (TARGET_PERIODS * 10.0 + 1.0, "unset")):
        found = bench(fresh("unset"), fresh("set", target=sooner))
        assert first_of(found, 26.0, unset=25.0, set=25.0) == expected


def test_a_source_has_the_target_of_what_is_computed_from_it() -> None:
    found = bench(fresh("source"), fresh("view", "source", target=12.0), fresh("other", target=20.0))
    assert first_of(found, 11.0, source=10.0, other=10.0) == "source"


@pytest.mark.parametrize("fails", [False, True])
def test_who_is_paused_or_has_failed_asks_nothing_of_its_sources(fails: bool) -> None:
    tables = (fresh("source"), fresh("view", "source", target=12.0, priority=5.0), fresh("other", target=20.0))
    found = Bench(fresh("busy"), *tables, policy=DIRECT, retry=RetryPolicy(attempts=1))
    if fails:
        found.rebuilds("view")
        found.fails("view")
    else:
        found.pauses("view")
    found.at(1.0).arrives("busy", 1.0)
    assert first_of(found, 11.0, source=10.0, other=10.0) == "other"
    found.resumes("view")
    found.at(12.0).arrives("busy", 12.0)
    assert found.finishes("other") == ["view" if fails else "source"], "it is wanted again"


def test_who_waits_goes_up_without_anything_happening_to_it() -> None:
    """A hundred times the priority is overtaken in time, though no data arrives for the one that waits."""
    found = bench(fresh("dear", priority=100.0, period=1.0, target=1e6), fresh("patient", period=1.0, target=1e6))
    found.happens(arrival("patient", 1.0), arrival("dear", 1.0))
    running, now = "busy", 1.0
    for _ in range(200):
        now += 1.0
        found.at(now).happens(arrival("dear", now))
        (running,) = found.finishes(running)
        if running == "patient":
            break
    # It is ranked anew when it has grown staler by a tenth: so late, and no earlier than when it counts for more.
    assert running == "patient"
    assert 10.0 <= now <= 13.0


def test_a_backlog_of_a_year_does_not_keep_others_waiting_for_long() -> None:
    year = 3.2e7
    found = Bench(
        fresh("behind", freshness=-year, safe=-year, beta=1e-3),
        fresh("healthy", target=30.0),
        policy=TARGET_LAGS,
    )
    found.at(10.0).happens(*(arrival("behind", 100.0 * number - year) for number in range(1, 100_000)))
    now, worst, reached = 10.0, 0.0, {"behind": -year, "healthy": 0.0}
    for number in range(200):
        (running,) = found.running
        upto = found.running[running].upto
        seconds = 1.0 + (1e-3 * (upto - reached[running]) if running == "behind" else 0.0)
        now += seconds
        found.at(now)
        if now - reached["healthy"] >= 10.0:
            found.happens(arrival("healthy", now - now % 10.0))
        if number > 10:
            # By then it is known what a second of its data takes.
            worst = max(worst, now - reached["healthy"])
        reached[running] = upto
        found.finishes(running, seconds=seconds)
    assert worst < 30.0
    # A piece of 8s brings 7000s of data, and after each the other has its second: 7 of 9.
    assert reached["behind"] + year > 0.7 * 1e3 * now, "most of the time goes into the backlog all the same"


def test_equal_tables_are_served_alike_whatever_chance_makes_of_their_costs() -> None:
    """Three times as much to do as can be done one by one: updates take in more, and nobody is left behind."""
    rng = random.Random(1)
    names = [f"t{number}" for number in range(60)]
    tables = [replace(fresh(name, period=1.0), cost=CostModel()) for name in names]
    found = Bench(*tables, policy=TARGET_LAGS)
    served = dict.fromkeys(names, 0)
    now = 0.0
    worst: list[float] = []
    freshness = dict.fromkeys(names, 0.0)
    while now < 120.0:
        if not found.running:
            now = round(now + 1.0)
            found.at(now).happens(*(arrival(name, now) for name in names))
        (name,) = found.running
        seconds = 0.05 * rng.uniform(0.3, 3.0)
        before, now = now, now + seconds
        found.at(now)
        if int(now) > int(before):
            found.happens(*(arrival(other, float(int(now))) for other in names))
        if now > 30.0:
            worst.append(now - freshness[name])
        freshness[name] = found.running[name].upto
        served[name] += 1
        found.finishes(name, seconds=seconds)
    assert max(served.values()) <= 1.5 * min(served.values())
    assert max(worst) < 4.0 * sum(worst) / len(worst)
