from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from freshtide.core.errors import UsageError
from freshtide.simulation.experiments import (
    EXPERIMENTS,
    Axes,
    Conditions,
    Curves,
    Experiment,
    Measured,
    Panel,
    Point,
    Series,
    over_processes,
    plot,
    require_format,
    run_experiment,
)
from freshtide.simulation.experiments.running import Measure

FIGURE = EXPERIMENTS["golab-fig4"]


def one_after_the_other(measure: Measure, points: Sequence[Point]) -> Iterator[Measured]:
    return (measure(point) for point in points)


def test_one_seed_gives_one_result_wherever_the_points_are_measured() -> None:
    told: list[None] = []
    here = run_experiment(
        FIGURE,
        conditions=Conditions(events=600, seed=4),
        spread=one_after_the_other,
        on_point=lambda: told.append(None),
    )
    apart = run_experiment(FIGURE, conditions=Conditions(events=600, seed=4), spread=over_processes)
    assert here.as_json() == apart.as_json()
    assert len(told) == len(FIGURE.points)
    other = run_experiment(FIGURE, conditions=Conditions(events=600, seed=5), spread=one_after_the_other)
    assert other.series != here.series


def test_the_result_has_the_common_form() -> None:
    curves = run_experiment(FIGURE, conditions=Conditions(events=300, seed=2), spread=one_after_the_other)
    told = json.loads(json.dumps(curves.as_json()))
    assert list(told) == ["experiment", "x_label", "y_label", "events", "seed", "series"]
    assert (told["experiment"], told["events"], told["seed"]) == ("golab-fig4", 300, 2)
    assert list(told["series"]) == list(FIGURE.labels)
    assert [x for x, _ in told["series"]["Max-Benefit"]] == list(FIGURE.points)


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_curves_become_a_figure(tmp_path: Path, suffix: str, begins: bytes) -> None:
    curves = run_experiment(
        EXPERIMENTS["golab-fig10"], conditions=Conditions(events=200, seed=2), spread=one_after_the_other
    )
    path = tmp_path / f"figure{suffix}"
    plot(curves, path)
    assert path.read_bytes().startswith(begins)
    if suffix == ".svg":
        text = path.read_text()
        assert all(label in text for label in ("Utot", "Relative lateness", "all, aggr.", "basic"))
        again = tmp_path / "again.svg"
        plot(curves, again)
        assert again.read_bytes() == path.read_bytes(), "figures in the documentation change only with their curves"


@pytest.mark.parametrize("name", ["figure", "figure.docx", "nowhere/figure.svg"])
def test_a_figure_that_could_not_be_written_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        require_format(tmp_path / name)


def test_every_figure_of_the_paper_is_there() -> None:
    assert [name for name in EXPERIMENTS if name.startswith("golab-")] == [f"golab-fig{n}" for n in range(4, 12)]


def staleness_of(policy: str, conditions: Conditions) -> Series:
    """A whole run for each point, as an experiment over time has it."""
    height = {"fifo": 1.0, "edf": 2.0}[policy] * conditions.seed
    return {policy: [(float(moment), height) for moment in range(100)], "bound": [(height, 3.0)]}


OVER_TIME = Experiment(
    name="over-time",
    title="Staleness over time",
    paper="None",
    caption="A run for each policy.",
    axes=Axes(x="Seconds", y="Staleness"),
    points=("fifo", "edf"),
    labels=("fifo", "edf", "bound", "nowhere"),
    references=("bound",),
    panels=(
        Panel(title="First come", labels=("fifo", "bound")),
        Panel(title="Earliest deadline", labels=("edf", "nowhere"), y_label="Seconds behind"),
    ),
    measure=staleness_of,
    events=math.inf,
)


def over_time() -> Curves:
    def last_first(_measure: Measure, points: Sequence[Point]) -> Iterator[Measured]:
        for point in reversed(points):
            series = OVER_TIME.measure(OVER_TIME.points[point.number], point.conditions)
            yield Measured(number=point.number, series=series)

    return run_experiment(OVER_TIME, conditions=Conditions(events=OVER_TIME.events, seed=1), spread=last_first)


def test_a_point_may_give_a_whole_curve_and_part_of_another() -> None:
    told = over_time().as_json()
    assert [len(points) for points in told["series"].values()] == [100, 100, 2, 0]
    assert told["series"]["bound"] == [[1.0, 3.0], [2.0, 3.0]], "in the order of x, whichever point came first"
    assert told["events"] is None, "how long it runs is the experiment's own affair"


def test_panels_stand_one_above_the_other_and_bounds_are_dashed(tmp_path: Path) -> None:
    plot(over_time(), tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    told = ("First come", "Earliest deadline", "Seconds behind", "Staleness over time", "fifo", "edf", "bound")
    assert all(f">{words}<" in text for words in told)
    assert "nowhere" not in text, "a curve without points is left out"
    assert text.count('id="axes_') == 2
    assert text.count("stroke-dasharray") > 0
