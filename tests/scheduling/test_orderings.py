"""Who goes first, with the worked examples of Golab et al. 2011, section 3.1."""

from __future__ import annotations

import pytest

from freshtide.core.staleness import StalenessCurve
from freshtide.scheduling import ORDERINGS

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
    names = ["fifo", "edf", "edf-p", "max-benefit", "lookahead", "random"]
    assert {name: ordering(lambda: 0.0).name for name, ordering in ORDERINGS.items()} == {name: name for name in names}
