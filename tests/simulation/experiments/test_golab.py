"""The shapes of figures 4 to 11 of Golab et al. 2011, with fewer events than the paper's and two seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from freshtide.simulation.experiments import EXPERIMENTS, Conditions

EVENTS = 20_000
Values = dict[str, float]
At = Callable[[float], Values]


@cache
def measured(name: str, x: float, seed: int) -> Values:
    return curves_at(name, x, Conditions(events=EVENTS, seed=seed))


def curves_at(name: str, x: float, conditions: Conditions) -> Values:
    """Of each curve the value at x."""
    return {label: y for label, [(_, y)] in EXPERIMENTS[name].measure(x, conditions).items()}


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow)])
def figure(request: pytest.FixtureRequest) -> Callable[[int], At]:
    """From a number to the values of the figure's curves at a place of the x axis."""
    return lambda number: lambda x: measured(f"golab-fig{number}", x, request.param)


def test_figure_4_lateness_rises_with_the_slowdown_factor(figure: Callable[[int], At]) -> None:
    at = figure(4)
    lateness = [at(factor)["Max-Benefit"] for factor in (2.0, 3.0, 5.0)]
    assert lateness == sorted(lateness)
    assert lateness[-1] > 2 * lateness[0]


def test_figure_5_the_curves_cross(figure: Callable[[int], At]) -> None:
    at = figure(5)
    first, rising, high = at(0.7), at(0.75), at(1.05)
    assert first["Max-Benefit"] < first["EDF-P"], (
        "unlike in the paper, EDF-P is not better where lateness begins to rise"
    )
    assert rising["EDF-P"] < rising["Max-Benefit"], "but soon after"
    assert high["Max-Benefit"] < high["EDF-P"], "Max Benefit is better at high load"


def test_figure_6_one_queue_and_proportional_go_together_and_partitioned_is_worst(figure: Callable[[int], At]) -> None:
    at = figure(6)
    for x in (0.7, 0.9, 1.0):
        values = at(x)
        assert values["Proportional"] == pytest.approx(values["Max-Benefit"], rel=0.02)
        assert values["Partitioned"] == max(values.values())
        assert values["Partitioned"] > 1.05 * values["Random"]


def test_figure_7_priorities_pay(figure: Callable[[int], At]) -> None:
    at = figure(7)
    for x in (0.8, 0.9, 1.0):
        values = at(x)
        assert values["Max-Benefit"] < 0.6 * min(values["EDF"], values["Random"])


def test_figure_8_without_inheritance_it_is_far_worse_and_max_is_best(figure: Callable[[int], At]) -> None:
    at = figure(8)
    loads = (0.8, 0.9, 1.0, 1.05)
    for x in loads:
        values = at(x)
        assert values["None"] > 2.0 * max(values["Max"], values["Sum"], values["Max-plus"])
    mean = {label: sum(at(x)[label] for x in loads) for label in ("Sum", "Max", "Max-plus")}
    assert min(mean, key=lambda label: mean[label]) == "Max"
    assert mean["Sum"] < 1.2 * mean["Max"], "those that inherit are close together"


def test_figure_9_partitioned_wins_over_one_queue_at_low_load_and_loses_at_high(figure: Callable[[int], At]) -> None:
    at = figure(9)
    for x in (0.3, 0.4, 0.5):
        assert at(x)["Partitioned"] < at(x)["Max-Benefit"]
    assert at(1.0)["Partitioned"] > at(1.0)["Max-Benefit"]


def test_figure_9_proportional_is_best_overall(figure: Callable[[int], At]) -> None:
    at = figure(9)
    overall = {label: sum(at(x)[label] for x in EXPERIMENTS["golab-fig9"].points) for label in at(1.0)}
    assert min(overall, key=lambda label: overall[label]) == "Proportional"
    assert at(1.0)["Proportional"] < min(at(1.0)["Partitioned"], at(1.0)["Max-Benefit"])


def test_figure_10_all_tracks_and_aggressive_is_best_at_every_load(figure: Callable[[int], At]) -> None:
    at = figure(10)
    for x in (0.3, 0.5, 0.7, 0.9, 1.0):
        values = at(x)
        assert values["all, aggr."] <= 1.01 * min(values.values())
    assert at(0.5)["all"] < 0.8 * at(0.5)["basic"], "leaving tracks free hurts most at low load"


def test_figure_11_chopping_pays(figure: Callable[[int], At]) -> None:
    at = figure(11)
    for x in (0.75, 0.85, 0.9, 0.95, 1.0, 1.05):
        assert at(x)["Chopping"] < at(x)["No chopping"]
    assert at(1.05)["Chopping"] < 0.9 * at(1.05)["No chopping"]


@pytest.mark.slow
@pytest.mark.parametrize("stretch", [0.5, 2.0])
def test_the_shapes_do_not_hang_on_how_long_it_is_slow(stretch: float) -> None:
    """The paper gives no lengths: half and twice those that were chosen tell the same."""

    def at(number: int, x: float) -> Values:
        return curves_at(f"golab-fig{number}", x, Conditions(events=2 * EVENTS, seed=1, stretch=stretch))

    priorities, inheriting, chopping, variants = at(7, 0.9), at(8, 0.9), at(11, 1.0), at(10, 0.5)
    assert priorities["Max-Benefit"] < 0.7 * min(priorities["EDF"], priorities["Random"])
    assert inheriting["None"] > 2.0 * max(inheriting["Max"], inheriting["Sum"], inheriting["Max-plus"])
    assert chopping["Chopping"] < chopping["No chopping"]
    assert variants["all, aggr."] < variants["basic"]
