"""Why a table waits: events in, looks and reasons out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freshtide.core.commands import RunnerUp
from freshtide.core.events import DataArrived
from freshtide.scheduling import (
    EdfPartitioned,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    Onlooker,
    Policy,
    Proportional,
    RetryPolicy,
    ScheduledTable,
    SumInheritance,
)
from freshtide.scheduling.inheritance import Inheritance

from .bench import PLAIN, Bench, arrival, starts, table

AT_HOME = Policy(allocation=EdfPartitioned(), inheritance=NoInheritance(), chopping=None)
"""Every table has a home track; nobody is promoted to a track that another waits for."""
QUICK = ("a", "b", "c")


def quick_and_slow() -> list[ScheduledTable]:
    """Three quick tables at home on track 0, a slow one on track 1 that none of them may delay."""
    quick = [table(name, alpha=0.1, period=1.0, freshness=0.0) for name in QUICK]
    return [*quick, table("slow", alpha=40.0, period=100.0, freshness=0.0)]


def waits(bench: Bench, name: str) -> str | None:
    return bench.scheduler.look(name).waits


def runners_up(bench: Bench) -> list[dict[str, RunnerUp]]:
    """Those that were not chosen, for each update that the last commands started."""
    return [{other.table: other for other in s.decision.runners_up} for s in starts(bench.commands) if s.decision]


def test_a_table_whose_update_runs_does_not_wait() -> None:
    bench = Bench(table("a"))
    bench.arrives("a", 1.0)
    assert waits(bench, "a") is None


def test_a_table_waits_for_its_home_track_and_names_who_is_on_it() -> None:
    bench = Bench(*quick_and_slow()[:2], policy=AT_HOME)
    bench.arrives("a", 1.0)
    bench.arrives("b", 1.0)
    assert waits(bench, "b") == "home track 0 ('a') is busy"
    assert bench.scheduler.look("b").lane == "home track 0"
    bench.finishes("a")
    assert waits(bench, "b") is None


def test_with_several_home_tracks_all_are_named() -> None:
    bench = Bench(table("a"), table("b"), table("c"), tracks=2)
    for name in QUICK:
        bench.arrives(name, 1.0)
    assert waits(bench, "c") == "home tracks 0 ('a') and 1 ('b') are busy"


def test_a_table_waits_although_a_track_is_idle_that_it_may_not_be_promoted_to() -> None:
    bench = Bench(*quick_and_slow(), tracks=2, policy=AT_HOME)
    bench.arrives("a", 1.0)
    bench.arrives("b", 1.0)
    assert waits(bench, "b") == "home track 0 ('a') is busy; not promotable to track 1, which is idle"


def test_a_table_waits_when_the_free_track_is_taken_too() -> None:
    bench = Bench(*quick_and_slow(), tracks=3, policy=AT_HOME)
    for name in QUICK:
        bench.arrives(name, 1.0)
    assert bench.running["b"].track == 2, "nobody's home"
    assert waits(bench, "c") == (
        "home track 0 ('a') is busy; free track 2 ('b') is busy; not promotable to track 1, which is idle"
    )


def alike(policy: Policy) -> Bench:
    """Home of a: track 0; of b and c: track 1. c may be promoted to track 0, and b runs."""
    tables = [
        table(name, alpha=cost, period=10.0, freshness=0.0) for name, cost in (("a", 4.0), ("b", 4.0), ("c", 1.0))
    ]
    bench = Bench(*tables, tracks=2, policy=policy)
    bench.arrives("b", 1.0)
    return bench


def test_an_idle_track_is_kept_for_the_update_whose_home_it_is() -> None:
    bench = alike(AT_HOME)
    bench.happens(arrival("a", 1.0), arrival("c", 1.0))
    assert bench.started() == ["a"], "c would gain more, but track 0 is a's home"
    assert runners_up(bench)[0]["c"].waits == (
        "home track 1 ('b') is busy; track 0 is idle, but kept for an update at home there"
    )
    assert waits(bench, "c") == "home track 1 ('b') is busy; track 0 ('a') is busy too"


def test_an_aggressive_allocation_keeps_no_track() -> None:
    bench = alike(replace(AT_HOME, allocation=EdfPartitioned(aggressive=True)))
    bench.happens(arrival("a", 1.0), arrival("c", 1.0))
    assert bench.started() == ["c"]
    assert runners_up(bench)[0]["a"].waits == "lower benefit: a better update takes the track"
    assert waits(bench, "a") == "home track 0 ('c') is busy"


def test_a_runner_up_is_told_with_its_benefit_and_that_a_better_one_goes_first() -> None:
    bench = Bench(table("a", freshness=0.0, priority=2.0), table("b", freshness=0.0))
    bench.happens(arrival("a", 10.0), arrival("b", 10.0))
    (others,) = runners_up(bench)
    assert others == {"b": RunnerUp(table="b", benefit=10.0, waits="lower benefit: a better update takes the track")}
    (start,) = starts(bench.commands)
    assert start.decision is not None
    assert (start.decision.benefit, start.decision.placed, start.decision.waiting) == (20.0, "home", 1)


def test_a_base_table_without_new_data_says_so() -> None:
    bench = Bench(table("a"))
    assert waits(bench, "a") == "no data has arrived since its last update"


def test_a_view_waits_for_the_source_that_is_not_fresh() -> None:
    bench = Bench(table("a"), table("b"), table("v", "a", "b"))
    bench.happens()
    bench.arrives("a", 5.0)
    bench.finishes("a")
    assert waits(bench, "v") == "source not fresh: 'b' has no data yet"
    bench.arrives("b", 3.0)
    assert bench.finishes("b") == ["v"]
    bench.finishes("v")
    bench.arrives("a", 9.0)
    bench.finishes("a")
    assert waits(bench, "v") == "source not fresh: 'b' has not moved on"


def test_a_view_of_closed_buckets_waits_for_the_next_one_to_close() -> None:
    bench = Bench(table("a"), table("v", "a"), reach=lambda _, cut: cut // 10 * 10 if cut >= 10 else None)
    bench.arrives("a", 5.0)
    bench.finishes("a")
    assert waits(bench, "v") == "source not fresh: 'a' has not reached the end of the next bucket"


def test_paused_failed_and_retrying_tables_say_so() -> None:
    bench = Bench(table("a"), table("b"), retry=RetryPolicy(attempts=2, backoff=8.0))
    bench.pauses("a")
    bench.arrives("a", 1.0)
    assert waits(bench, "a") == "it is paused"
    bench.arrives("b", 1.0)
    bench.at(2.0).fails("b")
    assert waits(bench, "b") == "its last update failed and is tried again at 1970-01-01T00:00:10Z"
    bench.at(10.0).timer()
    bench.fails("b")
    assert waits(bench, "b") == "it has failed too often"


def onlooker(*tables: ScheduledTable, **changes: Any) -> Onlooker:
    policy = replace(PLAIN, **changes)
    return Onlooker(tables, tracks=2, policy=policy, uniform=lambda: 0.0)


def test_an_onlooker_starts_nothing_and_says_who_would_be_next() -> None:
    scheduler = onlooker(table("a", freshness=0.0), table("b", freshness=0.0, priority=9.0), table("c", freshness=0.0))
    scheduler.apply([DataArrived(name, 10.0) for name in QUICK], 10.0)
    assert [scheduler.look(name).track for name in QUICK] == [None, None, None]
    assert scheduler.look("b").waits == "it is the next to start"
    assert scheduler.look("a").waits == "lower benefit: a better update takes the track"
    scheduler.is_running("c", 1, upto=10.0)
    assert (scheduler.look("c").track, scheduler.look("c").waits) == (1, None)
    scheduler.is_running("b", 0, upto=10.0)
    assert scheduler.look("a").waits == "home tracks 0 ('b') and 1 ('c') are busy"


def test_a_prospect_tells_how_far_the_next_update_may_go() -> None:
    scheduler = onlooker(table("a", freshness=0.0, period=5.0), chopping=3.0)
    scheduler.apply([DataArrived("a", stamp) for stamp in (10.0, 14.0, 40.0)], 40.0)
    candidate, prospect = scheduler.look("a").candidate, scheduler.prospect("a")
    assert candidate is not None
    assert (candidate.upto, prospect.stride, prospect.newest) == (14.0, 15.0, 40.0)
    assert onlooker(table("a", period=5.0)).prospect("a").stride is None


@pytest.mark.parametrize(
    ("inheritance", "priority", "givers"),
    [
        (NoInheritance(), 1.0, ()),
        (MaxInheritance(), 5.0, ("report",)),
        (MaxPlusInheritance(k=2.0), 20.0, ("report",)),
        (SumInheritance(), 10.0, ("view", "other", "report")),
    ],
)
def test_a_prospect_tells_whose_priority_a_table_has(
    inheritance: Inheritance, priority: float, givers: tuple[str, ...]
) -> None:
    scheduler = onlooker(
        table("base"),
        table("view", "base"),
        table("other", "base", priority=3.0),
        table("report", "view", priority=5.0),
        inheritance=inheritance,
    )
    prospect = scheduler.prospect("base")
    assert (prospect.own_priority, prospect.priority, prospect.inherited_from) == (1.0, priority, givers)
    assert scheduler.prospect("report").inherited_from == ()


def test_a_prospect_tells_the_tracks_of_a_cluster() -> None:
    quick, slow = table("quick", alpha=0.5, period=1.0), table("slow", alpha=50.0, period=100.0)
    scheduler = onlooker(quick, slow, allocation=Proportional())
    assert scheduler.prospect("slow").lane.label == "cluster 2 of 2"
    lane = scheduler.prospect("quick").lane
    assert (lane.label, lane.home, lane.promotable) == ("cluster 1 of 2", 0b10, 0b01)
