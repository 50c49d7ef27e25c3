"""`freshtide experiment`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshtide.simulation.experiments import EXPERIMENTS

from .test_commands import freshtide


def test_the_experiments_are_listed(tmp_path: Path) -> None:
    listed = freshtide("experiment", "--list", at=tmp_path)
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in EXPERIMENTS)


def test_an_experiment_gives_curves_and_a_figure(tmp_path: Path) -> None:
    done = freshtide(
        "experiment", "golab-fig11", "--events", "300", "--seed", "3", "--json", "--plot", "fig.svg", at=tmp_path
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["experiment"], told["events"], told["seed"]) == ("golab-fig11", 300, 3)
    assert set(told["series"]) == {"No chopping", "Chopping"}
    assert "Chopping" in (tmp_path / "fig.svg").read_text()


def test_without_json_the_curves_are_a_table_that_names_the_seed(tmp_path: Path) -> None:
    done = freshtide("experiment", "golab-fig4", "--events", "300", "--seed", "3", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Slowdown factor S" in done.stdout
    assert "seed 3" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("golab-fig44",), "Did you mean 'golab-fig4'?"),
        (("golab-fig4", "--plot", "figure.doc"), ".svg"),
        (("golab-fig4", "--events", "0"), "--events"),
    ],
)
def test_what_cannot_be_done_is_told_with_the_way_out(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    done = freshtide("experiment", *arguments, at=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
