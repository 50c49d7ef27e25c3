"""`freshtide experiment`."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from freshtide.cli.experimenting import table_of
from freshtide.simulation.experiments import EXPERIMENTS, Curves
from tests.commands import freshtide, freshtide_process

FLOW_EXPERIMENTS = [f"karagiannis-fig{each}" for each in ("4", "5", "8", "9", "10", "11", "12", "A1")]
POLICIES = ("RR", "MC", "MM")


def test_the_experiments_are_listed(tmp_path: Path) -> None:
    listed = freshtide("experiment", "--list", at=tmp_path)
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in (*EXPERIMENTS, *FLOW_EXPERIMENTS))


def test_an_experiment_gives_curves_and_a_figure(tmp_path: Path) -> None:
    done = freshtide(
        "experiment", "golab-fig11", "--events", "300", "--seed", "3", "--json", "--plot", "fig.svg", at=tmp_path
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["experiment"], told["events"], told["seed"]) == ("golab-fig11", 300, 3)
    assert set(told["series"]) == {"No chopping", "Chopping"}
    assert "Chopping" in (tmp_path / "fig.svg").read_text()


def test_an_experiment_with_update_streams_has_the_same_form(tmp_path: Path) -> None:
    done = freshtide("experiment", "upstream-fig14", "--events", "300", "--seed", "3", "--json", at=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["experiment"], told["events"], told["seed"]) == ("upstream-fig14", 300, 3)
    assert set(told["series"]) == {"Zipf, theta 0", "Zipf, theta 0.5", "Zipf, theta 0.9", "Uniform order"}


@pytest.mark.slow
def test_an_experiment_with_flows_runs_on_data_of_the_size_that_is_wanted(tmp_path: Path) -> None:
    done = freshtide_process(
        "experiment",
        "karagiannis-figA1",
        "--scale-factor",
        "0.001",
        "--data",
        "tpch",
        "--json",
        "--plot",
        "fig.svg",
        at=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["experiment"], told["events"]) == ("karagiannis-figA1", None)
    assert set(told["series"]) == {f"{what} {policy}" for what in ("memory", "activations") for policy in POLICIES}
    for policy in POLICIES:
        packs = [held for _, held in told["series"][f"memory {policy}"]]
        assert (packs[0], packs[-1]) == (0.0, 0.0)
        assert max(packs) > 0.0
        # Every activity with something to do is activated at least once: all but the two quarantines of clean data.
        assert len({place for _, place in told["series"][f"activations {policy}"]}) == 18
    assert "MM: memory" in (tmp_path / "fig.svg").read_text()
    assert (tmp_path / "tpch" / "sf0.001" / "partsupp.parquet").is_file()


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
        (("golab-fig4", "--scale-factor", "1"), "--scale-factor means nothing to golab-fig4"),
        (("karagiannis-fig44",), "Did you mean 'karagiannis-fig4'?"),
        (("karagiannis-fig4", "--events", "300"), "--events means nothing to karagiannis-fig4"),
        (("karagiannis-fig4", "--scale-factor", "0", "--data", "."), "0 is no scale factor"),
    ],
)
def test_what_cannot_be_done_is_told_with_the_way_out(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    done = freshtide("experiment", *arguments, at=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def printed(*curves: int) -> str:
    """A table of curves with so many points each."""
    labels = [f"curve {number}" for number in range(len(curves))]
    series = {
        label: [(float(x), float(10 * x)) for x in range(length)] for label, length in zip(labels, curves, strict=True)
    }
    console = Console(width=100, file=StringIO())
    console.print(table_of(Curves(experiment=EXPERIMENTS["golab-fig4"], events=1, seed=1, series=series)))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_short_curves_are_printed_place_by_place_even_where_one_is_shorter() -> None:
    lines = [line.split() for line in printed(3, 2).splitlines()[1:]]
    assert lines == [["0", "0.000", "0.000"], ["1", "10.000", "10.000"], ["2", "20.000"]]


def test_long_curves_are_summed_up() -> None:
    lines = [line.split() for line in printed(500, 0).splitlines()]
    assert lines[0] == ["curve", "points", "min", "max", "last"]
    assert lines[1:] == [["curve", "0", "500", "0.000", "4990.000", "4990.000"], ["curve", "1", "0"]]


def test_several_experiments_share_a_folder_for_their_pictures(tmp_path: Path) -> None:
    names = ("golab-fig11", "golab-fig4")
    done = freshtide("experiment", *names, "--events", "300", "--json", "--plot", "pictures", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [told["experiment"] for told in json.loads(done.stdout)] == list(names)
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["golab-fig11.svg", "golab-fig4.svg"]


def test_several_experiments_do_not_fit_into_one_picture(tmp_path: Path) -> None:
    done = freshtide("experiment", "golab-fig4", "golab-fig11", "--plot", "both.svg", at=tmp_path)
    assert done.returncode != 0
    assert "2 figures cannot all be drawn into both.svg" in done.stderr
    assert "Name a folder" in done.stderr
