"""`freshtide simulate` inside a project."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from freshtide.catalog import Catalog, TableRow, UpdateRow, UpdateStatus
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.costs import CostModel
from freshtide.project import create_starter, load_project
from freshtide.runs import Places

from .scenarios import Terminal

START = 1_777_626_000.0  # 2026-05-01T09:00:00Z


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The starter project with a day of history: a file each hour, 30 seconds old, and updates that took 20 seconds."""
    folder = tmp_path / "shop"
    create_starter(folder, "shop")
    project = load_project(folder)
    places = Places(project)
    places.state.mkdir()
    catalog = Catalog.open(places.catalog_url)
    for hour in range(24):
        stamp = START + 3600.0 * hour
        file = Arrival(
            feed="orders_feed",
            position=f"{hour}.csv",
            digest=str(hour),
            size=1,
            modified_ns=1,
            arrived_at=stamp + 30.0,
            state=ArrivalState.READY,
            timestamp=stamp,
            rows=1,
        )
        catalog.arrivals.register(file, ["orders"])
    for name in project.graph:
        cost = CostModel.learnt_from([(3600.0, 20.0)] * 5)
        catalog.tables.put(TableRow(name=name, number=1, freshness=START, safe=START, cost=cost))
    catalog.close()
    return folder


def test_every_scheduler_is_compared_on_every_number_of_tracks(terminal: Terminal, shop: Path) -> None:
    told = terminal.type("simulate", "-p", str(shop), "--json", "--tracks", "1,3", "--seed", "5").json
    compared = {(prediction["scheduler"], prediction["tracks"]) for prediction in told["predictions"]}
    assert compared == {(name, n) for name in ("target-lag", "max-benefit", "edf-p", "fifo") for n in (1, 3)}
    assert told["seed"] == 5
    orders = told["model"]["orders"]
    assert orders["alpha"] == pytest.approx(20.0)
    assert orders["arrivals"]["period"] == pytest.approx(3600.0)
    assert orders["arrivals"]["delay"] == pytest.approx(30.0)
    for prediction in told["predictions"]:
        assert prediction["tables"]["orders"]["max"] == pytest.approx(3600.0 + 30.0 + 20.0, abs=60.0)


def test_what_to_compare_can_be_said(terminal: Terminal, shop: Path) -> None:
    asked = ["--scheduler", "edf", "--scheduler", "{ordering: random, allocation: global, seed: 3}"]
    told = terminal.type("simulate", "-p", str(shop), "--json", *asked, "--tracks", "2", "--horizon", "2d").json
    assert [prediction["scheduler"] for prediction in told["predictions"]] == asked[1::2]
    assert told["horizon"] == 2 * 86_400.0


def test_the_same_seed_predicts_the_same(terminal: Terminal, shop: Path) -> None:
    words = ["simulate", "-p", str(shop), "--json", "--scheduler", "random", "--tracks", "1"]
    assert terminal.type(*words).json == terminal.type(*words).json


def test_costs_can_be_given(terminal: Terminal, shop: Path) -> None:
    costs = ["--cost", "orders=2m,0.1", "--cost", "orders_per_hour=5"]
    told = terminal.type("simulate", "-p", str(shop), "--json", "--tracks", "1", *costs).json
    assert told["model"]["orders"] | {"arrivals": None} == {
        "alpha": 120,
        "beta": 0.1,
        "cost": "given",
        "arrivals": None,
    }
    assert told["model"]["orders_per_hour"] == {"alpha": 5, "beta": 0, "cost": "given"}
    assert told["model"]["large_orders"]["cost"] == "learnt"
    assert told["predictions"][0]["tables"]["orders"]["max"] == pytest.approx(3600 + 30 + 120 + 360, abs=60)


def test_a_scheduler_of_the_project_s_own_is_compared_too(terminal: Terminal, shop: Path) -> None:
    settings = shop / "freshtide.yml"
    written = settings.read_text(encoding="utf-8").replace("scheduler: target-lag", "scheduler: {chopping: 7}")
    settings.write_text(written.replace("tracks: 2", "tracks: 5"), encoding="utf-8")
    predictions = terminal.type("simulate", "-p", str(shop), "--json").json["predictions"]
    assert predictions[0]["scheduler"] == "as in freshtide.yml"
    assert {prediction["tracks"] for prediction in predictions} == {1, 2, 4, 5}


def test_people_see_a_comparison_a_chart_and_what_stands_in_the_way(terminal: Terminal, shop: Path) -> None:
    for path in (shop / "tables").iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace("'2h'", "'5m'"), encoding="utf-8")
    told = terminal.type("simulate", "-p", str(shop))
    assert told.code == 0
    # Orders come once an hour, and orders_per_hour should never be more than five minutes old.
    assert "None of these keeps 'orders_per_hour' within 5m" in told.out
    assert "because its source 'orders' gets up to 1h stale" in told.out
    assert "█" in told.out
    assert "│" in told.out
    assert "seed 0" in told.out


def test_targets_that_can_be_kept_are_kept_with_the_fewest_tracks(terminal: Terminal, shop: Path) -> None:
    for path in (shop / "tables").iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace("'2h'", "'90m'"), encoding="utf-8")
    told = terminal.type("simulate", "-p", str(shop), "--json").json
    assert told["recommendation"]["keeps_all"]
    assert told["recommendation"]["tracks"] == 1
    assert "Every target lag is kept with" in told["recommendation"]["sentences"][0]


def test_a_project_without_history_is_simulated_as_declared(terminal: Terminal, tmp_path: Path) -> None:
    create_starter(tmp_path / "new", "new")
    told = terminal.type("simulate", "-p", str(tmp_path / "new"))
    assert told.code == 0
    assert "Costs are assumed, for none have been learnt, of orders" in told.out
    assert "Arrivals are as declared, not as seen, of orders." in told.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--scheduler", "max_benefit"], "Did you mean 'max-benefit'?"),
        (["--scheduler", "{ordering: best}"], "'best' is not an ordering"),
        (["--scheduler", "{"], "The YAML is broken"),
        (["--tracks", "two"], "Write them like --tracks 1,2,4."),
        (["--tracks", "0"], "Write them like --tracks 1,2,4."),
        (["--cost", "orders"], "Write it like --cost orders=2s"),
        (["--cost", "orders=2s,-1"], "Write it like --cost orders=2s"),
        (["--cost", "ordres=2s"], "Did you mean 'orders'?"),
        (["--horizon", "soon"], "'soon' is not a duration"),
        (["--horizon", "0"], "The horizon must be longer than 0s, not '0'."),
        (["--trace", "trace.jsonl"], "--trace is for scenarios."),
    ],
)
def test_a_call_that_makes_no_sense_ends_with_2_and_says_so(
    terminal: Terminal, shop: Path, words: list[str], told: str
) -> None:
    answer = terminal.type("simulate", "-p", str(shop), *words)
    assert answer.code == 2
    assert told in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    "words", [["--tracks", "2"], ["--scheduler", "fifo"], ["--cost", "a=1"], ["--horizon", "9"], ["--seed", "1"]]
)
def test_what_a_scenario_says_cannot_be_said_again(terminal: Terminal, words: list[str]) -> None:
    told = terminal.simulate("horizon: 9\ntables: {a: {period: 1}}\n", *words)
    assert told.code == 2
    assert f"{words[0]} is for projects." in told.err


def test_outside_of_a_project_a_scenario_is_needed(terminal: Terminal) -> None:
    told = terminal.type("simulate", "-p", str(terminal.folder))
    assert told.code == 2
    assert "freshtide.yml" in told.err


def test_it_can_begin_with_the_tables_as_they_stand(terminal: Terminal, shop: Path) -> None:
    words = ("simulate", "-p", str(shop), "--tracks", "1", "--horizon", "1h", "--from-now")
    told = terminal.type(*words, "--json").json
    assert told["from_now"] is True
    stale_since_may = told["predictions"][0]["tables"]["orders"]["max"]
    assert stale_since_may == pytest.approx(time.time() - START, rel=0.01)
    assert "with the tables as they stand" in terminal.type(*words).out


def test_scenarios_have_no_now(terminal: Terminal) -> None:
    told = terminal.simulate("horizon: 9\ntables: {a: {period: 1}}\n", "--from-now")
    assert told.code == 2
    assert "--from-now is for projects" in told.err


def worked(folder: Path, size: Callable[[int], int] = lambda number: 1_000_000 * (1 + number % 5)) -> None:
    """All files are loaded, 2s each and a second for each megabyte."""
    project = load_project(folder)
    catalog = Catalog.open(Places(project).catalog_url)
    with closing(catalog):
        for number, file in enumerate(catalog.arrivals.pending("orders"), start=2):
            catalog.arrivals.register(replace(file, size=size(number)), ["orders"])
            catalog.arrivals.mark_loaded("orders", [file.id], number)
            updated(catalog, "load", number, at=file.timestamp or 0.0, took=2.0 + size(number) / 1e6, rows=1)


def updated(catalog: Catalog, kind: str, number: int, *, at: float, took: float, rows: int) -> None:
    row = UpdateRow(
        table="orders",
        number=number,
        kind=kind,
        track=0,
        status=UpdateStatus.RUNNING,
        started_at=at,
        upto=at,
        from_freshness=at - 3600.0,
    )
    catalog.updates.finish(catalog.updates.start(row), at=at + took, freshness=at, rows=rows)


def foreseen_backfill(shop: Path, terminal: Terminal) -> dict[str, Any]:
    found: dict[str, Any] = terminal.type("plan", "-p", str(shop), "--backfill", "orders", "--json").json["backfill"]
    return found


def test_the_fixed_costs_of_small_loads_are_not_those_of_the_files_of_a_rebuild(shop: Path, terminal: Terminal) -> None:
    """24 loads of a file of 2 kB took 2s each, 48s. Together they weigh 24 * 130 kB, 3.1 MB: less than a second."""
    worked(shop, size=lambda _number: 2_000)
    told = foreseen_backfill(shop, terminal)
    assert told["work"]["orders"] == {"seconds": pytest.approx(24 * 130_000 / 5e6), "known_by": "assumed"}
    assert told["parts"] == 1, "they fit into the 4 MB that a run begins with"
    assert told["took"] < 10.0


def test_loads_of_one_size_that_were_fast_bound_the_work(shop: Path, terminal: Terminal) -> None:
    """24 files of 100 MB in 10.2s each: nearly 10 MB a second, with all that is fixed."""
    worked(shop, size=lambda _number: 100_000_000)
    with closing(Catalog.open(Places(load_project(shop)).catalog_url)) as catalog:
        for update in catalog.updates.recent("orders", 100):
            catalog.updates.finish(update.id, at=update.started_at + 10.2, freshness=update.freshness, rows=1)
    told = foreseen_backfill(shop, terminal)
    assert told["work"]["orders"] == {"seconds": pytest.approx(24 * 10.2), "known_by": "at most"}
    assert told["parts"] == 24, "a file each: that is longer than a part should be, and none is cut"


def test_what_a_rebuild_took_is_what_the_next_one_takes(shop: Path, terminal: Terminal) -> None:
    """Three parts, with what is fixed in each of them taken off."""
    worked(shop)
    with closing(Catalog.open(Places(load_project(shop)).catalog_url)) as catalog:
        for took, rows in ((42.0, 0), (42.0, 0), (37.0, 24)):
            updated(catalog, "rebuild", 99, at=START + 30 * 3600.0, took=took, rows=rows)
        catalog.arrivals.mark_loaded("orders", [file.id for file in catalog.arrivals.loaded("orders")], 99)
    model = terminal.type("simulate", "-p", str(shop), "--tracks", "1", "--scheduler", "fifo", "--json").json["model"]
    told = foreseen_backfill(shop, terminal)["work"]["orders"]
    assert told == {"seconds": pytest.approx(42 + 42 + 37 - 3 * model["orders"]["alpha"]), "known_by": "learnt"}


def test_it_tells_before_a_backfill_how_long_it_takes_and_whom_it_costs(shop: Path, terminal: Terminal) -> None:
    worked(shop)
    told = terminal.type("simulate", "--project", str(shop), "--backfill", "orders", "--json").json["backfill"]
    # 24 files of 3 MB and so much as 128 kB for each of them.
    assert told["work"]["orders"]["known_by"] == "learnt"
    assert 60.0 < told["work"]["orders"]["seconds"] < 85.0
    assert told["in_parts"]
    assert told["parts"] > 3
    assert told["took"] is not None
    assert told["took"] > told["work"]["orders"]["seconds"]
    assert set(told["costs"]) >= {"orders"}
    for command in ("simulate", "plan"):
        out = terminal.type(command, "--project", str(shop), "--backfill", "orders").out
        assert "'orders' is rebuilt in " in out
    assert "backfill" in terminal.type("plan", "--project", str(shop), "--backfill", "orders", "--json").json


def test_a_backfill_that_would_be_refused_is_not_foreseen(shop: Path, terminal: Terminal) -> None:
    assert "There is no table 'nothing'" in terminal.type("plan", "--project", str(shop), "--backfill", "nothing").err
    with closing(Catalog.open(Places(load_project(shop)).catalog_url)) as catalog:
        catalog.tables.set_status("orders", "paused")
    for command in ("simulate", "plan"):
        answer = terminal.type(command, "--project", str(shop), "--backfill", "orders")
        assert "'orders' is paused" in answer.err
    answer = terminal.type("simulate", "--project", str(shop), "--backfill", "orders", "--horizon", "2h")
    assert "followed until it is done" in answer.err


def test_tables_are_found_in_whatever_case_they_are_called(shop: Path, terminal: Terminal) -> None:
    worked(shop)
    for command in ("simulate", "plan"):
        words = (command, "-p", str(shop), "--backfill", "Orders", "--cost", "ORDERS=2s", "--json")
        assert terminal.type(*words).json["backfill"]["table"] == "orders"
    assert "'orders' is paused" in terminal.type("pause", "-p", str(shop), "ORDERS").out
    assert "'orders' is" in terminal.type("explain", "-p", str(shop), "oRDERS").out
    assert "Did you mean 'orders'?" in terminal.type("plan", "-p", str(shop), "--backfill", "Ordres").err
