"""Who goes first, with the worked examples of Golab et al. 2011, section 3.1."""

from __future__ import annotations

import pytest

from freshtide.core.staleness import StalenessCurve
from freshtide.scheduling import ORDERINGS, Candidate, GlobalAllocation, Policy
from freshtide.scheduling.orderings import Lookahead

from .bench import Bench, arrival, starts, table


def jobs() -> Bench:
    """J1 (E = 3, dF = 10) and J2 (E = 2, dF = 5), both released at 0."""
    return Bench(table("J1", alpha=3.0, freshness=-10.0, safe=-10.0), table("J2", alpha=2.0, freshness=-5.0, safe=-5.0))


def test_section_3_1_max_benefit_starts_j1() -> None:
    bench = jobs()
    (start,) = starts(bench.happens(arrival("J2", 0.0), arrival("J1", 0.0)))
    assert start.table == "J1"
    assert start.decision is not None
    assert start.decision.benefit == pytest.approx(10 / 3)
    (other,) = start.decision.runners_up
    assert other.table == "J2"
    assert other.benefit == pytest.approx(5 / 2)


def test_section_3_1_what_max_benefit_does_costs_80_over_five_units_and_not_85() -> None:
    bench = jobs()
    curves = {"J1": StalenessCurve(since=0.0, freshness=-10.0), "J2": StalenessCurve(since=0.0, freshness=-5.0)}
    execution = {"J1": 3.0, "J2": 2.0}
    bench.happens(arrival("J1", 0.0), arrival("J2", 0.0))
    while bench.running:
        ((name, update),) = bench.running.items()
        bench.at(bench.now + execution[name]).finishes(name)
        curves[name].refreshed(bench.now, update.upto)
    for curve in curves.values():
        curve.advance(bench.now)
    assert bench.now == 5.0
    assert sum(curve.area for curve in curves.values()) == pytest.approx(80.0)


def test_a_priority_weighs_the_freshness_that_is_gained() -> None:
    bench = Bench(
        table("J1", alpha=3.0, freshness=-10.0, safe=-10.0),
        table("J2", alpha=2.0, freshness=-5.0, safe=-5.0, priority=2.0),
    )
    bench.happens(arrival("J1", 0.0), arrival("J2", 0.0))
    assert bench.started() == ["J2"]


def test_the_cost_of_an_update_grows_with_what_it_has_to_load() -> None:
    bench = Bench(
        table("steep", alpha=1.0, beta=1.0, freshness=-100.0, safe=-100.0),
        table("flat", alpha=10.0, freshness=-50.0, safe=-50.0),
    )
    bench.happens(arrival("steep", 0.0), arrival("flat", 0.0))
    assert bench.started() == ["flat"], "50 / 10 beats 100 / 101"


def test_max_benefit_goes_by_what_updates_really_took() -> None:
    bench = Bench(table("a", alpha=1.0, freshness=0.0, safe=0.0), table("b", alpha=2.0, freshness=0.0, safe=0.0))
    for step in (1.0, 2.0, 3.0):
        bench.arrives("a", step)
        bench.finishes("a", seconds=30.0)
        bench.arrives("b", step)
        bench.finishes("b", seconds=2.0)
    bench.happens(arrival("a", 4.0), arrival("b", 4.0))
    assert bench.started() == ["b"], "a was thought to take one second and takes thirty"


def test_fifo_starts_what_has_been_waiting_longest() -> None:
    bench = Bench(table("first"), table("second"), table("third"), ordering="fifo")
    bench.at(1.0).arrives("third", 1.0)
    bench.at(2.0).arrives("second", 2.0)
    bench.at(3.0).arrives("first", 3.0)
    assert bench.at(4.0).finishes("third") == ["second"]
    assert bench.at(5.0).finishes("second") == ["first"]


def test_more_data_does_not_cost_a_waiting_update_its_place() -> None:
    bench = Bench(table("running"), table("a"), table("z"), ordering="fifo")
    bench.at(1.0).arrives("running", 1.0)
    bench.at(2.0).arrives("z", 2.0)
    bench.at(3.0).arrives("a", 3.0)
    for more in (4.0, 5.0, 6.0):
        bench.at(more).arrives("z", more)
    assert bench.at(7.0).finishes("running") == ["z"]
    assert starts(bench.commands)[0].upto == 6.0, "one update takes all that has come together"


def test_section_4_of_bateni_myopic_starts_the_table_whose_oldest_update_was_released_first() -> None:
    bench = Bench(table("running"), table("a", period=1.0), table("z", period=100.0, priority=0.1), ordering="myopic")
    bench.at(1.0).arrives("running", 1.0)
    bench.at(2.0).arrives("z", 2.0)
    bench.at(3.0).arrives("a", 3.0)
    assert bench.at(4.0).finishes("running") == ["z"]
    bench.at(5.0).arrives("z", 5.0)
    assert bench.at(6.0).finishes("z") == ["a"], "what came for z while it was being updated was released later"


def test_section_4_of_bateni_myopic_batches_all_that_is_pending() -> None:
    default = Policy(ordering="myopic", allocation=GlobalAllocation())
    bench = Bench(table("a", period=1.0, freshness=0.0, safe=0.0), policy=default)
    bench.arrives("a", *(float(stamp) for stamp in range(1, 50)))
    assert bench.running["a"].upto == 49.0


@pytest.mark.parametrize("ordering", [name for name in ORDERINGS if name != "random"])
def test_ties_go_to_the_table_declared_first(ordering: str) -> None:
    names = ["m", "z", "a", "k"]
    bench = Bench(*(table(name, freshness=0.0, safe=0.0) for name in names), ordering=ordering)
    bench.happens(*(arrival(name, 5.0) for name in names))
    order = bench.started()
    while bench.running:
        order += bench.finishes(order[-1])
    assert order == names


def test_of_tables_never_loaded_the_first_data_counts_for_one_period() -> None:
    bench = Bench(table("slow", period=10.0), table("often", period=60.0))
    bench.happens(arrival("slow", 1_000_000.0), arrival("often", 50.0))
    assert bench.started() == ["often"]


def test_a_decision_says_how_many_waited_and_who_came_next() -> None:
    names = [f"t{number}" for number in range(6)]
    bench = Bench(*(table(name, freshness=0.0, safe=0.0) for name in names))
    (start,) = starts(bench.happens(*(arrival(name, float(place + 1)) for place, name in enumerate(names))))
    assert start.table == "t5"
    assert start.decision is not None
    assert start.decision.waiting == 5
    assert [other.table for other in start.decision.runners_up] == ["t4", "t3", "t2"]
    assert start.decision.ordering == "max-benefit"


def test_orderings_are_known_by_their_names() -> None:
    names = ["fifo", "edf", "edf-p", "max-benefit", "lookahead", "myopic", "random", "shortest-period", "target-lag"]
    assert {name: ordering(lambda: 0.0).name for name, ordering in ORDERINGS.items()} == {name: name for name in names}


def with_j3() -> tuple[Bench, Bench]:
    """J1 and J2 as above, and J3 (p = 10, E = 3, dF = P = 50) expected one unit later."""
    tables = (
        table("J1", alpha=3.0, period=100.0, freshness=-10.0, safe=-10.0),
        table("J2", alpha=2.0, period=100.0, freshness=-5.0, safe=-5.0),
        table("J3", alpha=3.0, period=50.0, priority=10.0, freshness=-49.0, safe=-49.0, expected_at=1.0),
    )
    return Bench(*tables, ordering="lookahead"), Bench(*tables)


def test_section_3_1_lookahead_starts_j2_because_j3_is_expected() -> None:
    ahead, plain = with_j3()
    for bench, first in ((ahead, "J2"), (plain, "J1")):
        bench.happens(arrival("J1", 0.0), arrival("J2", 0.0))
        assert bench.started() == [first]
    ahead.at(1.0).arrives("J3", 1.0)
    assert ahead.at(2.0).finishes("J2") == ["J3"]


def test_section_3_1_the_value_of_j2_and_then_j3_is_101() -> None:
    j1 = Candidate(table="J1", place=0, priority=1.0, period=100.0, delta=10.0, cost=3.0)
    j2 = Candidate(table="J2", place=1, priority=1.0, period=100.0, delta=5.0, cost=2.0)

    def j3(weight: float) -> Candidate:
        return Candidate(table="J3", place=2, priority=weight, period=50.0, delta=50.0, cost=3.0, released_at=1.0)

    assert Lookahead().reconsider(j1, [j2], [j3(10.0)]) is j2
    # B = (5 + 50 p) / 5 exceeds the 10 / 3 of J1 from p = 7 / 30 on, and J3 alone is better than J1 from 1 / 5 on.
    assert Lookahead().reconsider(j1, [j2], [j3(7 / 30 + 0.001)]) is j2
    assert Lookahead().reconsider(j1, [j2], [j3(7 / 30 - 0.001)]) is j1


def test_lookahead_leaves_no_track_idle_for_what_is_expected() -> None:
    bench = Bench(
        table("J1", alpha=3.0, freshness=-10.0, safe=-10.0),
        table("J3", alpha=3.0, period=50.0, priority=10.0, freshness=-49.0, safe=-49.0, expected_at=1.0),
        ordering="lookahead",
    )
    assert bench.arrives("J1", 0.0) == ["J1"]


def test_lookahead_expects_nothing_that_has_not_come_in_time() -> None:
    ahead, _ = with_j3()
    ahead.at(1.5).happens(arrival("J1", 0.0), arrival("J2", 0.0))
    assert ahead.started() == ["J1"]


def test_lookahead_expects_the_next_data_a_period_after_the_last() -> None:
    ahead, _ = with_j3()
    ahead.at(1.0).arrives("J3", 1.0)
    ahead.at(4.0).finishes("J3")
    ahead.at(50.0).happens(arrival("J1", 0.0), arrival("J2", 0.0))
    assert ahead.started() == ["J2"], "J3 comes again at 51"


def test_edf_goes_by_the_deadline_and_edf_p_by_the_priority_first() -> None:
    tables = (
        table("late", period=100.0, priority=5.0, freshness=0.0, safe=0.0),
        table("soon", period=10.0, priority=1.0, freshness=0.0, safe=0.0),
        table("sooner", period=5.0, priority=1.0, freshness=0.0, safe=0.0),
    )
    for ordering, expected in (("edf", ["sooner", "soon", "late"]), ("edf-p", ["late", "sooner", "soon"])):
        bench = Bench(*tables, ordering=ordering)
        bench.happens(*(arrival(each.name, 1.0) for each in tables))
        order = bench.started()
        while bench.running:
            order += bench.finishes(order[-1])
        assert order == expected


def test_a_deadline_is_a_period_after_the_oldest_data_came() -> None:
    bench = Bench(
        table("running"),
        table("a", period=10.0, freshness=0.0, safe=0.0),
        table("b", period=10.0, freshness=0.0, safe=0.0),
        ordering="edf",
    )
    bench.arrives("running", 1.0)
    bench.at(1.0).arrives("b", 1.0)
    bench.at(2.0).arrives("a", 2.0)
    bench.at(3.0).arrives("b", 3.0)
    assert bench.at(4.0).finishes("running") == ["b"]
