from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from freshtide.core.errors import UsageError
from freshtide.simulation.experiments import (
    EXPERIMENTS,
    Measured,
    Point,
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
    here = run_experiment(FIGURE, events=600, seed=4, spread=one_after_the_other, on_point=lambda: told.append(None))
    apart = run_experiment(FIGURE, events=600, seed=4, spread=over_processes)
    assert here.as_json() == apart.as_json()
    assert len(told) == len(FIGURE.xs)
    other = run_experiment(FIGURE, events=600, seed=5, spread=one_after_the_other)
    assert other.series != here.series


def test_the_result_has_the_common_form() -> None:
    curves = run_experiment(FIGURE, events=300, seed=2, spread=one_after_the_other)
    told = json.loads(json.dumps(curves.as_json()))
    assert list(told) == ["experiment", "x_label", "y_label", "events", "seed", "series"]
    assert (told["experiment"], told["events"], told["seed"]) == ("golab-fig4", 300, 2)
    assert list(told["series"]) == list(FIGURE.labels)
    assert [x for x, _ in told["series"]["Max-Benefit"]] == list(FIGURE.xs)


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_curves_become_a_figure(tmp_path: Path, suffix: str, begins: bytes) -> None:
    curves = run_experiment(EXPERIMENTS["golab-fig10"], events=200, seed=2, spread=one_after_the_other)
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
