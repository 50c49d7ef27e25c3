"""While disk, database or Spark fail nothing is started, and nobody is to blame."""

from __future__ import annotations

import pytest

from freshtide.core.events import SurroundingsFailed, SurroundingsMended
from freshtide.scheduling import RetryPolicy, adaptive_policy

from .bench import PLAIN, Bench, arrival, given_up, starts, table

FAILED = SurroundingsFailed("the disk is full")


def test_nothing_is_started_until_the_surroundings_are_well_again() -> None:
    bench = Bench(table("cpu"), table("view", "cpu"), tracks=2)
    bench.happens(FAILED)
    assert bench.arrives("cpu", 3.0, 4.0) == []
    assert bench.scheduler.held
    bench.happens(SurroundingsMended())
    assert bench.started() == ["cpu"]
    assert bench.running["cpu"].upto == 4.0
    assert bench.finishes("cpu") == ["view"]


def test_what_runs_goes_on_and_what_it_leads_to_is_started_afterwards() -> None:
    bench = Bench(table("cpu"), table("view", "cpu"), tracks=2)
    bench.arrives("cpu", 3.0)
    bench.happens(FAILED)
    assert bench.finishes("cpu") == []
    bench.happens(SurroundingsMended())
    assert bench.started() == ["view"]


def test_an_update_that_is_not_to_blame_is_repeated_however_often_it_fails() -> None:
    bench = Bench(table("cpu"), retry=RetryPolicy(attempts=2))
    bench.arrives("cpu", 3.0)
    for _ in range(20):
        bench.happens(FAILED)
        assert bench.fails("cpu", blameless=True) == []
        assert [start.upto for start in starts(bench.happens(SurroundingsMended()))] == [3.0]
    assert bench.finishes("cpu") == []
    assert bench.scheduler.idle


def test_tries_are_counted_beside_failures_that_are_nobody_s_fault() -> None:
    bench = Bench(table("cpu"), retry=RetryPolicy(attempts=2))
    bench.arrives("cpu", 3.0)
    bench.fails("cpu")
    bench.at(1.0).timer()
    bench.fails("cpu", blameless=True)
    assert given_up(bench.fails("cpu", "the query is wrong")) == [("cpu", "the query is wrong")]


def test_an_update_that_does_harm_is_given_up_at_once() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 3.0)
    assert given_up(bench.fails("cpu", "Spark died of it", hopeless=True)) == [("cpu", "Spark died of it")]


def test_a_wait_for_the_surroundings_is_not_learnt_as_a_cost() -> None:
    bench = Bench(table("cpu"), table("gpu"), tracks=2)
    for bystander in ("cpu", "gpu"):
        bench.arrives(bystander, 1.0)
        bench.finishes(bystander)
    known = bench.scheduler.cost("cpu")
    bench.arrives("cpu", 2.0)
    bench.happens(FAILED)
    bench.happens(SurroundingsMended())
    bench.finishes("cpu", seconds=600.0)
    assert bench.scheduler.cost("cpu") == known
    bench.arrives("cpu", 3.0)
    bench.finishes("cpu", seconds=2.0)
    assert bench.scheduler.cost("cpu") != known


@pytest.mark.parametrize("policy", [PLAIN, adaptive_policy()])
def test_a_table_paused_meanwhile_stays_so(policy: object) -> None:
    bench = Bench(table("cpu"), policy=policy)  # type: ignore[arg-type]
    bench.happens(FAILED, arrival("cpu", 1.0))
    bench.pauses("cpu")
    bench.happens(SurroundingsMended())
    assert bench.started() == []
