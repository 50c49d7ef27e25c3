"""The shapes of figures 5 to 17 of Moga et al. 2009, with fewer events and two seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from freshtide.simulation.experiments import EXPERIMENTS, Conditions

EVENTS = 8_000
Values = dict[str, float]
At = Callable[[float], Values]


@cache
def measured(name: str, x: float, seed: int) -> Values:
    return {label: y for label, [(_, y)] in EXPERIMENTS[name].measure(x, Conditions(events=EVENTS, seed=seed)).items()}


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow)])
def figure(request: pytest.FixtureRequest) -> Callable[[str], At]:
    """From a number to the values of the figure's curves at a place of the x axis."""
    return lambda number: lambda x: measured(f"upstream-fig{number}", x, request.param)


def test_every_figure_of_the_paper_is_there() -> None:
    figures = ["5a", "5b", "7a", "7b", "9", "13a", "13b", "14", "16a", "16b", "17a", "17b"]
    assert [name for name in EXPERIMENTS if name.startswith("upstream-")] == [f"upstream-fig{n}" for n in figures]


def test_figure_5_staleness_grows_with_the_load_and_with_the_number_of_keys(figure: Callable[[str], At]) -> None:
    one, ten = figure("5a"), figure("5b")
    for at in (one, ten):
        for label in ("Application staleness", "Queue staleness"):
            steps = [at(x + 2.0)[label] - at(x)[label] for x in (4.0, 6.0, 8.0)]
            assert steps == pytest.approx([steps[0]] * 3, rel=0.15), "linear in the load factor"
            assert min(steps) > 0.0
    assert ten(10.0)["Queue staleness"] == pytest.approx(10 * one(10.0)["Queue staleness"], rel=0.1)


def test_figure_5_the_difference_of_the_two_does_not_hang_on_the_number_of_keys(figure: Callable[[str], At]) -> None:
    """It is about the cost, whatever the number of keys."""
    for x in (6.0, 10.0):
        one, ten = (figure(number)(x) for number in ("5a", "5b"))
        differences = [values["Application staleness"] - values["Queue staleness"] for values in (one, ten)]
        assert differences == pytest.approx([x, x], rel=0.2)


@pytest.mark.parametrize("number", ["7a", "7b"])
def test_figure_7_update_queues_are_far_below_append_queues(figure: Callable[[str], At], number: str) -> None:
    at = figure(number)
    for x in (2.0, 5.0, 10.0):
        values = at(x)
        update = max(values["UQ-FIFO"], values["UQ-INPLACE"])
        assert update < 0.6 * values["AQ-RLS"]
        assert values["AQ-RLS"] < 0.5 * values["AQ"]
        assert update < 0.05 * values["AQ"]


def test_figure_7_fifo_wastes_the_time_that_keys_have_waited(figure: Callable[[str], At]) -> None:
    for x in (3.0, 5.0, 10.0):
        one, ten = figure("7a")(x), figure("7b")(x)
        assert one["UQ-FIFO"] == pytest.approx(one["UQ-INPLACE"]), "with one key there is nothing to choose"
        assert ten["UQ-INPLACE"] < 0.85 * ten["UQ-FIFO"]


def test_figure_9_without_slow_updaters_or_with_nothing_else_both_are_the_same(figure: Callable[[str], At]) -> None:
    at = figure("9")
    for x in (0, 10):
        assert list(at(x).values()) == pytest.approx([1.0] * 6, rel=0.02)


def test_figure_9_cutting_in_is_worth_most_with_eight_slow_updaters(figure: Callable[[str], At]) -> None:
    at = figure("9")
    for rule in ("LINECUTTING", "As printed"):
        ratios = [at(x)[f"{rule}, rates 50 : 1"] for x in (5, 8)]
        assert ratios == sorted(ratios)
        assert ratios[0] > 1.0
        assert ratios[-1] > 1.1
        assert at(9)[f"{rule}, rates 50 : 1"] < ratios[-1]


def test_figure_9_linecutting_is_never_much_worse_than_in_place(figure: Callable[[str], At]) -> None:
    """As printed it is, where slow keys take all the time there is: see `Linecutting`."""
    at = figure("9")
    for x in (5, 8, 9):
        values = at(x)
        assert min(values[f"LINECUTTING, rates {times} : 1"] for times in (10, 50, 100)) > 0.95
    assert at(8)["As printed, rates 10 : 1"] < 0.6


def test_figure_13_lazy_grows_with_tumbling_windows_and_eager_falls(figure: Callable[[str], At]) -> None:
    """LAZY processes a window once it is there, which takes as long as it is; EAGER only has its last tuple to do."""
    at = figure("13a")
    for size in (2.0, 5.0, 10.0, 20.0):
        assert at(size)["LAZY"] == pytest.approx(size / 2, rel=0.02)
        assert at(size)["EAGER"] == pytest.approx(1 / (2 * size), rel=0.02)


def test_figure_13_update_windowing_is_below_append_windowing(figure: Callable[[str], At]) -> None:
    at = figure("13b")
    for size in (2.0, 5.0, 10.0):
        values = at(size)
        assert values["EAGER"] <= values["LAZY"] < 0.5 * values["Random window shedding"]
        assert values["Random window shedding"] < 0.5 * values["Append"]
    shed = [at(size)["Random window shedding"] for size in (2.0, 5.0, 10.0)]
    assert shed == sorted(shed), "the more windows overlap, the worse random choice is"


def test_figure_14_eager_suffers_from_gaps_and_gains_from_order(figure: Callable[[str], At]) -> None:
    at = figure("14")
    for size in (2.0, 20.0):
        values = at(size)
        assert values["Uniform order"] < 0.9
        assert values["Zipf, theta 0.9"] > 1.1
        assert values["Uniform order"] < values["Zipf, theta 0"] < values["Zipf, theta 0.9"]
    for label in ("Zipf, theta 0", "Zipf, theta 0.5", "Zipf, theta 0.9"):
        small, large = at(2.0)[label], at(20.0)[label]
        assert small > 1.2, "with small windows EAGER is worse however the keys are distributed"
        assert small > large


def of_seed_1(number: str) -> At:
    """These runs have a length of their own, which is not short."""
    return lambda x: measured(f"upstream-fig{number}", x, 1)


def test_figure_16_on_demand_paging_uses_what_it_has_even_if_some_keys_hardly_update() -> None:
    effective, allocated = of_seed_1("16a")(0.9), of_seed_1("16b")(0.9)
    assert effective["On-demand paging"] > 0.95
    assert allocated["On-demand paging"] < 0.8 * allocated["Naive"]
    assert allocated["Naive"] > 0.9 * 100, "a location for each key"


def test_figure_16_naive_memory_is_used_less_the_more_unequal_the_keys_are() -> None:
    effective, allocated = of_seed_1("16a"), of_seed_1("16b")
    assert effective(0.0)["On-demand paging"] > 0.95
    assert effective(0.9)["Naive"] < effective(0.0)["Naive"] - 0.05
    assert allocated(0.9)["On-demand paging"] < 0.95 * allocated(0.0)["On-demand paging"]


def test_figure_17_naive_memory_is_wasted_at_low_load(figure: Callable[[str], At]) -> None:
    effective, allocated = figure("17a"), figure("17b")
    for load in (2.0, 10.0):
        assert effective(load)["On-demand paging"] > 0.95
    assert effective(2.0)["Naive"] < 0.5 < effective(10.0)["Naive"]
    assert allocated(2.0)["On-demand paging"] < 0.5 * allocated(2.0)["Naive"]
    assert allocated(2.0)["On-demand paging"] < allocated(10.0)["On-demand paging"]
