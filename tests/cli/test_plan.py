"""`freshtide plan`: what a run would do, and what can be promised."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from freshtide.core.costs import CostModel
from freshtide.core.definitions import fingerprints
from freshtide.project import load_project
from tests.observe.shop import Shop, write_project

from .scenarios import Answer, Terminal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shop before its first run: orders every 5 minutes within 10, clicks and their join with orders hourly."""
    root = write_project(tmp_path / "shop")
    for name in ("orders", "clicks"):
        (root / "landing" / name).mkdir(parents=True)
    return root


@pytest.fixture
def shop(folder: Path) -> Iterator[Shop]:
    opened = Shop.open(folder)
    yield opened
    opened.close()


def tables(answer: Answer) -> dict[str, dict[str, Any]]:
    return {table["name"]: table for table in json.loads(answer.out)["tables"]}


def planned(terminal: Terminal, folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    return tables(terminal.type("plan", "-p", str(folder), "--json", *words))


def test_before_the_first_run_everything_would_be_loaded_and_computed(terminal: Terminal, folder: Path) -> None:
    for number in range(3):
        (folder / "landing" / "orders" / f"{number}.csv").write_text("time,id\n", encoding="utf-8")
    found = planned(terminal, folder)
    assert found["orders"]["files"] == {"registered": 0, "unseen": 3, "bytes": 3 * len("time,id\n")}
    assert found["orders"]["work"] == "load"
    assert found["clicks"]["work"] == "nothing"
    assert (found["hourly"]["work"], found["hourly"]["why"]) == ("backfill", "never computed")
    assert found["sales"]["sources"] == ["orders", "clicks"]
    assert found["large_sales"]["level"] == 2
    assert found["orders"]["cost_known_by"] == "assumed"


def test_a_target_shorter_than_the_period_is_told_with_numbers_and_a_way_out(terminal: Terminal, folder: Path) -> None:
    late = (folder / "tables" / "sales.sql").read_text(encoding="utf-8").replace("'1h'", "'15m'")
    (folder / "tables" / "sales.sql").write_text(late, encoding="utf-8")
    answer = terminal.type("plan", "-p", str(folder))
    assert answer.code == 1
    assert "sales: cannot be kept: 1h" in answer.out
    told = " ".join(answer.err.split())
    assert "'sales' has a target lag of 15m, but its data moves every 1h" in told
    assert "for 25 % of the time at most. Declare a target_lag of more than 1h" in told


def test_the_steps_that_a_run_would_take_are_shown_with_what_they_read_and_write(
    terminal: Terminal, folder: Path
) -> None:
    (folder / "landing" / "orders" / "1.csv").write_text("time,id\n", encoding="utf-8")
    found = planned(terminal, folder)
    assert found["clicks"]["steps"] == [], "there is nothing to do"
    load, tidy = found["orders"]["steps"]
    beside = ["orders__rejects", "orders__late", "orders"]
    assert load == {"step": "load", "reads": ["orders_feed"], "writes": beside}
    assert tidy == {"step": "tidy", "reads": beside, "writes": beside}
    assert found["sales"]["steps"][0] == {"step": "refresh", "reads": ["orders", "clicks"], "writes": ["sales"]}
    told = [line.split() for line in terminal.type("plan", "-p", str(folder)).out.splitlines()]
    assert ["load", "orders_feed", "orders", "+", "rejects,", "late"] in told
    assert ["refresh", "orders,", "clicks", "sales"] in told


def test_looking_leaves_nothing_behind_and_starts_no_spark(terminal: Terminal, folder: Path) -> None:
    (folder / "landing" / "orders" / "1.csv").write_text("time,id\n", encoding="utf-8")
    before = sorted(folder.rglob("*"))
    terminal.type("plan", "-p", str(folder))
    assert sorted(folder.rglob("*")) == before
    seen = (
        "import sys; from freshtide.cli import main; sys.argv[1:] = ['plan', '-p', sys.argv[1]]\n"
        "try: main()\nexcept SystemExit: pass\nprint('pyspark' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", seen, str(folder)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


def test_registered_files_and_files_nobody_has_seen_are_told_apart(terminal: Terminal, shop: Shop) -> None:
    root = shop.project.root
    path = root / "landing" / "orders" / "seen.csv"
    path.write_text("time,id\n", encoding="utf-8")
    seen = path.stat()
    for name in shop.project.graph:
        shop.is_fresh(name, -600.0)
    shop.arrives("orders", str(path), -300.0, size=seen.st_size, modified_ns=seen.st_mtime_ns)
    (root / "landing" / "orders" / "new.csv").write_text("time,id\n1,2\n", encoding="utf-8")
    for _ in range(2):
        files = planned(terminal, root)["orders"]["files"]
        assert files == {"registered": 1, "unseen": 1, "bytes": seen.st_size + len("time,id\n1,2\n")}


def test_views_are_caught_up_or_computed_anew(terminal: Terminal, shop: Shop) -> None:
    known = fingerprints(shop.project.graph)
    for name in shop.project.graph:
        shop.is_fresh(name, 0.0, definition=known[name])
    assert {table["work"] for table in planned(terminal, shop.project.root).values()} == {"nothing"}
    shop.is_fresh("large_sales", 0.0, definition="another")
    shop.is_fresh("sales", -60.0, definition=known["sales"])
    found = planned(terminal, shop.project.root)
    assert (found["large_sales"]["work"], found["large_sales"]["why"]) == ("backfill", "its definition has changed")
    assert found["sales"]["work"] == "catch up"
    assert found["orders"]["work"] == "nothing"


def test_paused_tables_and_what_depends_on_them_are_left_out(terminal: Terminal, shop: Shop) -> None:
    for name in shop.project.graph:
        shop.is_fresh(name, 0.0, status="paused" if name == "sales" else "active")
    found = planned(terminal, shop.project.root)
    assert {name for name, table in found.items() if table["promise"] is None} == {"sales", "large_sales"}
    assert found["sales"]["work"] == found["large_sales"]["work"] == "left out"


def test_a_target_lag_that_cannot_be_kept_ends_with_1(terminal: Terminal, folder: Path) -> None:
    """Clicks come once an hour: what is joined with them cannot be less than that behind."""
    sales = folder / "tables" / "sales.sql"
    text = sales.read_text(encoding="utf-8")
    sales.write_text(text.replace("'1h'", "'50m'"), encoding="utf-8")
    told = terminal.type("plan", "-p", str(folder))
    assert told.code == 1
    assert "sales: cannot be kept" in told.out
    assert "a file of 'clicks' comes every 1h" in told.out
    sales.write_text(text.replace("'1h'", "'6h'"), encoding="utf-8")
    assert terminal.type("plan", "-p", str(folder)).code == 0


def test_costs_schedulers_and_tracks_can_be_tried(terminal: Terminal, folder: Path) -> None:
    feed = folder / "feeds" / "orders_feed.yml"
    feed.write_text(feed.read_text(encoding="utf-8") + "jitter: 0s\ntimestamp_jitter: 5s\n", encoding="utf-8")
    assert planned(terminal, folder)["orders"]["promise"]["bound"] is None
    tried = ["--scheduler", "adaptive", "--cost", "orders=30s"]
    orders = planned(terminal, folder, *tried)["orders"]
    assert orders["cost_known_by"] == "given"
    assert orders["utilisation"] == pytest.approx(30.0 / 300.0)
    assert orders["promise"]["bound"] > 3 * 300.0 + 30.0
    assert orders["promise"]["verdict"] == "cannot be kept"
    on_eight = planned(terminal, folder, *tried, "--tracks", "8")["orders"]
    assert on_eight["promise"]["bound"] != orders["promise"]["bound"]
    assert orders["remedy"] is not None


def test_costs_that_were_assumed_are_told(terminal: Terminal, folder: Path) -> None:
    for feed in (folder / "feeds").iterdir():
        feed.write_text(feed.read_text(encoding="utf-8") + "timestamp_jitter: 5s\n", encoding="utf-8")
    told = terminal.type("plan", "-p", str(folder), "--scheduler", "adaptive")
    assert "No costs have been learnt of 'clicks', 'orders'" in told.out


def test_people_see_a_tree_with_every_table_once_and_all_sources_named(
    terminal: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    told = terminal.type("plan", "-p", str(folder)).out
    header, *lines = told.splitlines()
    tree = [line[: header.index("To do")].rstrip() for line in lines[: len(load_project(folder).graph)]]
    assert tree == ["clicks", "orders", "├─ hourly", "└─ sales + clicks", "   └─ large_sales"]
    assert all(len(line) <= 100 for line in [header, *lines[: len(tree)]])
    assert "of 2 tracks busy" in told


def test_a_set_that_cannot_be_reserved_is_told_with_what_would_do(terminal: Terminal, shop: Shop) -> None:
    for name in shop.project.graph:
        cost = CostModel.learnt_from([(300.0, 280.0 if name in {"orders", "hourly"} else 3500.0)] * 3)
        shop.is_fresh(name, 0.0, cost=cost)
    told = terminal.type("plan", "-p", str(shop.project.root), "--scheduler", "adaptive", "--json")
    assert told.code == 1
    orders = tables(told)["orders"]
    assert "falls behind for ever" in orders["promise"]["reason"]
    assert "tracks would do" in orders["promise"]["reason"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--tracks", "none"], "is not a list of numbers of tracks"),
        (["--tracks", "1,2"], "A plan is for one number of tracks."),
        (["--scheduler", "edf", "--scheduler", "fifo"], "A plan is for one scheduler."),
        (["--scheduler", "maximal"], "'maximal' is not a scheduler."),
        (["--cost", "orders"], "is not the cost of a table"),
    ],
)
def test_mistakes_are_told_and_end_with_2(terminal: Terminal, folder: Path, words: list[str], problem: str) -> None:
    told = terminal.type("plan", "-p", str(folder), *words)
    assert told.code == 2
    assert problem in told.err


def test_a_wrong_project_ends_with_2(terminal: Terminal, folder: Path) -> None:
    (folder / "freshtide.yml").write_text(
        "name: shop\nscheduler:\n  name: adaptive\n  recovery: {order: 90s}\n  threshold: {clicks: 2h}\n",
        encoding="utf-8",
    )
    told = terminal.type("plan", "-p", str(folder))
    assert told.code == 2
    assert "freshtide.yml:4: There is no table 'order' to give a recovery to." in told.err
    assert "Did you mean 'orders'?" in told.err
    assert "clicks" not in told.err.splitlines()[0]


def test_a_folder_that_is_not_there_is_told(terminal: Terminal, folder: Path) -> None:
    (folder / "landing" / "clicks").rmdir()
    assert "Is `path` right?" in terminal.type("plan", "-p", str(folder)).out
