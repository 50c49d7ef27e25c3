"""Clocks that are set back and timers that come early: nothing is forgotten, and nothing is asked for twice."""

from __future__ import annotations

from freshtide.core.costs import CostModel
from freshtide.scheduling import Adaptive, RetryPolicy, adaptive_policy

from .bench import Bench, table, wakes


def failing(*names: str, backoff: float = 8.0) -> Bench:
    """All tables have failed at second 10."""
    bench = Bench(*(table(name) for name in names), tracks=len(names), retry=RetryPolicy(backoff=backoff))
    for name in names:
        bench.arrives(name, 1.0)
    bench.at(10.0)
    for name in names:
        bench.fails(name)
    return bench


def test_a_timer_that_comes_early_is_asked_for_again_and_loses_no_retry() -> None:
    bench = failing("a")
    assert wakes(bench.commands) == [18.0]
    assert bench.at(17.9).timer() == []
    assert wakes(bench.commands) == [18.0]
    assert bench.at(18.0).timer() == ["a"]
    assert wakes(bench.commands) == []


def test_a_clock_that_is_set_back_delays_a_retry_and_does_not_lose_it() -> None:
    bench = failing("a")
    assert bench.at(-86_400.0).timer() == []
    assert wakes(bench.commands) == [18.0]
    assert bench.at(18.0).timer() == ["a"]


def test_of_several_retries_only_the_one_whose_timer_was_early_is_asked_for_again() -> None:
    bench = failing("a", "b")
    bench.at(18.0).timer()
    assert sorted(bench.running) == ["a", "b"], "one timer wakes all whose time has come"
    assert wakes(bench.commands) == []
    bench.timer()
    assert wakes(bench.commands) == [], "nobody waits any longer"


def test_a_table_that_was_resumed_is_not_woken_again_and_again() -> None:
    bench = failing("a")
    assert bench.at(12.0).resumes("a") == ["a"]
    bench.at(18.0).timer()
    assert wakes(bench.commands) == []
    bench.at(19.0).timer()
    assert wakes(bench.commands) == []


def test_a_release_whose_timer_comes_early_is_asked_for_again_once() -> None:
    tables = [table(name, period=10.0, freshness=0.0, safe=0.0) for name in "ab"]
    bench = Bench(*tables, policy=adaptive_policy(Adaptive()))
    bench.arrives("a", 1.0)
    bench.at(1.0).finishes("a")
    bench.at(2.0).arrives("a", 2.0)
    (release,) = wakes(bench.commands)
    assert bench.at(3.0).timer() == []
    assert wakes(bench.commands) == [release]
    assert bench.at(release).timer() == ["a"]


def test_an_update_that_a_clock_says_took_less_than_nothing_costs_nothing() -> None:
    bench = Bench(table("a", freshness=0.0, alpha=2.0))
    for moment in (1.0, 2.0, 3.0):
        bench.at(moment).arrives("a", moment)
        bench.finishes("a", seconds=-86_400.0)
    assert bench.scheduler.cost("a").coefficients == (0.0, 0.0)
    learnt = CostModel.learnt_from([(0.0, -1.0), (0.0, -2.0)])
    assert learnt.coefficients == (0.0, 0.0)
    assert learnt.longest(1.0) < 1e-3
