"""A project that is edited while its warehouse runs on Spark, through the command line."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from freshtide import Warehouse
from freshtide.spark import SparkSession
from tests.commands import answer, freshtide
from tests.waiting import wait_until

SETTINGS = "name: shop\ntracks: 1\npoll: 20ms\n"
FEED = """
path: landing/{name}/*.csv
format: csv
schema: {{ts: timestamp, k: string, v: int}}
time_column: ts
settle: renamed
period: 10s
"""
TABLES = """
CREATE STREAMING TABLE sales AS SELECT * FROM STREAM sales_feed;
CREATE MATERIALIZED VIEW large AS SELECT ts, k, v FROM sales WHERE v > 50;
"""


class Running:
    """A project in a folder, and a warehouse that runs it on another thread."""

    def __init__(self, folder: Path, spark: SparkSession, *, watch: bool = False) -> None:
        self.folder, self.spark = folder, spark
        for below in ("feeds", "tables", "landing/sales", "landing/visits"):
            (folder / below).mkdir(parents=True)
        self.write("freshtide.yml", SETTINGS)
        self.write("feeds/sales_feed.yml", FEED.format(name="sales"))
        self.write("tables/tables.sql", TABLES)
        self.news: list[str] = []
        self._stop = threading.Event()
        self._fault: BaseException | None = None
        self.warehouse = Warehouse.open(folder, spark=spark)
        self._thread = threading.Thread(target=self._run, args=(watch,))
        self._thread.start()

    def _run(self, watch: bool) -> None:
        try:
            self.warehouse.run(stop=self._stop, watch=watch, on_news=self.news.append)
        except BaseException as error:
            self._fault = error

    def end(self) -> None:
        self._stop.set()
        self._thread.join()

    def stop(self) -> None:
        self.end()
        self.warehouse.close()
        assert self._fault is None, self._fault
        assert answer("trace", "replay", at=self.folder)["same"]

    def write(self, file: str, text: str) -> None:
        """As an editor does, in one step."""
        hidden = self.folder / f"{file}.new"
        hidden.write_text(text)
        hidden.rename(self.folder / file)

    def land(self, feed: str, name: str, *values: int) -> None:
        lines = [f"2026-01-01T00:00:{second:02d}Z,k,{value}" for second, value in enumerate(values)]
        self.write(f"landing/{feed}/{name}.csv", "\n".join(["ts,k,v", *lines]) + "\n")

    def values(self, table: str) -> list[int]:
        folder = self.folder / "warehouse" / table
        if not any((folder / "_delta_log").glob("[0-9]*")):
            return []
        return sorted(pl.read_delta(str(folder))["v"].to_list())

    def type_of(self, table: str) -> pl.DataType:
        return pl.read_delta(str(self.folder / "warehouse" / table)).schema["v"]

    def wait_for(self, table: str, *values: int) -> None:
        wait_until(lambda: self.values(table) == list(values), unless=lambda: self._fault)

    def status(self) -> dict[str, Any]:
        return {table["name"]: table for table in answer("status", at=self.folder)["tables"]}

    def changes(self) -> list[dict[str, Any]]:
        """All that has taken effect, as the trace tells the scheduler of it."""
        trace = (self.folder / ".freshtide" / "trace.jsonl").read_text().splitlines()
        return [json.loads(line)["changes"] for line in trace if line.startswith('{"changes"')]


@pytest.fixture
def running(tmp_path: Path, spark: SparkSession) -> Iterator[Running]:
    made = Running(tmp_path / "shop", spark)
    yield made
    made.stop()


def test_tables_feeds_priorities_and_tracks_change_while_it_runs(running: Running) -> None:
    running.land("sales", "first", 10, 60)
    # Nobody reads these yet.
    running.land("visits", "first", 1, 2)
    running.wait_for("large", 60)
    running.write("feeds/visits_feed.yml", FEED.format(name="visits"))
    running.write("freshtide.yml", SETTINGS.replace("tracks: 1", "tracks: 3"))
    running.write(
        "tables/tables.sql",
        TABLES.replace("VIEW large", "VIEW large TBLPROPERTIES ('priority' = '7', 'target_lag' = '1m')")
        + "CREATE STREAMING TABLE visits AS SELECT * FROM STREAM visits_feed;\n"
        + "CREATE MATERIALIZED VIEW small AS SELECT ts, k, v FROM sales WHERE v <= 50;\n",
    )
    plan = answer("apply", "--dry-run", at=running.folder)
    told = {(change["subject"], change["name"]): change for change in plan["changes"]}
    assert plan["applied"] is False
    assert {name: change["what"] for name, change in told.items()} == {
        ("setting", "tracks"): "changed",
        ("feed", "visits_feed"): "added",
        ("table", "large"): "changed",
        ("table", "visits"): "added",
        ("table", "small"): "added",
    }
    assert not any(change["anew"] for change in told.values())
    assert running.changes() == []
    shown = freshtide("apply", at=running.folder)
    assert shown.returncode == 0, shown.stderr
    assert "~ table large changed: priority 1 -> 7, target_lag none -> 1m" in shown.stdout
    assert "setting tracks 1 -> 3" in shown.stdout
    # They begin with what is there, and go on with what comes.
    running.wait_for("visits", 1, 2)
    running.wait_for("small", 10)
    running.land("sales", "second", 20, 70)
    running.land("visits", "second", 3)
    running.wait_for("small", 10, 20)
    running.wait_for("large", 60, 70)
    running.wait_for("visits", 1, 2, 3)
    [change] = running.changes()
    assert change["tracks"] == 3
    assert {table["name"]: table["priority"] for table in change["tables"]}["large"] == 7.0
    assert running.status()["large"]["target_lag"] == 60.0
    assert "nothing changes" in freshtide("apply", at=running.folder).stdout


@pytest.mark.slow
def test_a_table_of_the_newest_rows_and_a_view_of_it_are_added_beside_one_that_is_there(running: Running) -> None:
    running.land("sales", "first", 10, 60)
    running.wait_for("large", 60)
    newest = "CREATE STREAMING TABLE {} TBLPROPERTIES ('update_key' = 'k') AS SELECT * FROM STREAM sales_feed;\n"
    running.write("tables/newest.sql", newest.format("newest"))
    assert freshtide("apply", at=running.folder).returncode == 0
    running.wait_for("newest", 60)
    running.land("sales", "second", 1, 2, 70)
    running.wait_for("newest", 70)
    more = "CREATE MATERIALIZED VIEW told AS SELECT ts, k, v FROM newest;\n"
    running.write("tables/newest.sql", newest.format("newest") + newest.format("also") + more)
    assert freshtide("apply", at=running.folder).returncode == 0
    running.wait_for("also", 70)
    running.wait_for("told", 70)
    running.land("sales", "third", 3, 4, 5, 80)
    for table in ("newest", "also", "told"):
        running.wait_for(table, 80)
    running.wait_for("large", 60, 70, 80)
    # The next run of the same process goes on with all of it.
    running.end()
    running.land("sales", "fourth", 1, 2, 3, 4, 90)
    running.warehouse.run_once()
    assert [running.values(table) for table in ("newest", "also", "told")] == [[90], [90], [90]]


def test_a_table_is_taken_out_and_its_files_stay_until_it_comes_back(running: Running) -> None:
    running.land("sales", "first", 10, 60)
    running.wait_for("large", 60)
    running.write("tables/tables.sql", TABLES.split(";", maxsplit=1)[0] + ";\n")
    assert "its files stay as they are" in freshtide("apply", at=running.folder).stdout
    running.land("sales", "second", 20, 70)
    running.wait_for("sales", 10, 20, 60, 70)
    assert running.values("large") == [60]
    assert "large" not in running.status()
    running.write("tables/tables.sql", TABLES)
    assert freshtide("apply", at=running.folder).returncode == 0
    running.wait_for("large", 60, 70)


def test_a_view_that_says_something_else_is_computed_anew_if_somebody_agrees(running: Running) -> None:
    running.land("sales", "first", 10, 60)
    running.wait_for("large", 60)
    running.write("tables/tables.sql", TABLES.replace("v > 50", "v > 5"))
    asked = freshtide("apply", at=running.folder)
    assert asked.returncode == 2
    assert "1 table computed anew: large" in asked.stderr
    assert "--yes" in asked.stderr
    assert running.changes() == []
    assert freshtide("apply", "--yes", at=running.folder).returncode == 0
    running.wait_for("large", 10, 60)


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("tables/tables.sql", TABLES + "CREATE MATERIALIZED VIEW x AS SELECT * FROM y;", "There is no table 'y'."),
        (
            "tables/tables.sql",
            TABLES + "CREATE MATERIALIZED VIEW x AS SELECT * FROM y; CREATE MATERIALIZED VIEW y AS SELECT * FROM x;",
            "circle",
        ),
        ("tables/tables.sql", TABLES.replace("v > 50", "w > 50"), "`w` cannot be resolved"),
        ("feeds/sales_feed.yml", FEED.format(name="sales").replace(", v: int", ""), "`v` cannot be resolved"),
        ("freshtide.yml", SETTINGS + "update_memory: 64MB\n", "1 of 1 changes need a restart"),
        ("freshtide.yml", SETTINGS.replace("tracks: 1", "tracks: 0"), "tracks"),
    ],
    ids=["unknown table", "circle", "unknown column", "a column of the feed is gone", "restart", "no tracks"],
)
def test_what_is_refused_changes_nothing(running: Running, file: str, text: str, told: str) -> None:
    running.land("sales", "first", 10, 60)
    running.wait_for("large", 60)
    running.write(file, text)
    refused = freshtide("apply", "--yes", at=running.folder)
    assert refused.returncode != 0
    assert told in refused.stderr
    assert "Traceback" not in refused.stderr
    running.land("sales", "second", 70)
    running.wait_for("large", 60, 70)
    assert running.changes() == []
    running.write("freshtide.yml", SETTINGS)
    running.write("feeds/sales_feed.yml", FEED.format(name="sales"))
    running.write("tables/tables.sql", TABLES)


@pytest.mark.slow
def test_a_table_whose_columns_become_others_is_loaded_anew_by_a_run_and_by_the_next_one(running: Running) -> None:
    running.land("sales", "first", 10, 60)
    running.wait_for("large", 60)
    running.write("feeds/sales_feed.yml", FEED.format(name="sales").replace("v: int", "v: bigint"))
    asked = freshtide("apply", at=running.folder)
    assert asked.returncode == 2
    assert "1 table computed anew: sales" in asked.stderr
    assert (
        "Column 'v' of 'sales' is int32 in the table and int64 now. It is loaded anew from its files." in asked.stdout
    )
    assert freshtide("apply", "--yes", at=running.folder).returncode == 0
    running.land("sales", "second", 20, 70)
    running.wait_for("sales", 10, 20, 60, 70)
    running.wait_for("large", 60, 70)
    assert {running.type_of(table) for table in ("sales", "large")} == {pl.Int64}
    assert {table["status"] for table in running.status().values()} == {"active"}
    # Where the files are gone, nothing changes.
    hidden = running.folder / "landing" / "sales" / "first.away"
    (running.folder / "landing" / "sales" / "first.csv").rename(hidden)
    running.write("feeds/sales_feed.yml", FEED.format(name="sales").replace("v: int", "v: double"))
    refused = freshtide("apply", "--yes", at=running.folder)
    assert refused.returncode == 1
    assert "'sales' cannot be rebuilt: 1 of its files is away" in refused.stderr
    assert "Nothing was changed: the run goes on as it was." in refused.stderr
    hidden.rename(hidden.with_suffix(".csv"))
    running.end()
    with Warehouse.open(running.folder, spark=running.spark) as again:
        again.run_once()
    assert {running.type_of(table) for table in ("sales", "large")} == {pl.Float64}
    assert (running.values("sales"), running.values("large")) == ([10, 20, 60, 70], [60, 70])


@pytest.mark.slow
def test_a_table_that_comes_back_counts_from_then_on_and_forgets_no_mean(running: Running) -> None:
    running.land("sales", "first", 10, 60)
    running.wait_for("large", 60)
    running.write("tables/tables.sql", TABLES.split(";", maxsplit=1)[0] + ";\n")
    assert freshtide("apply", at=running.folder).returncode == 0
    running.write("tables/tables.sql", TABLES)
    back = time.time()
    assert freshtide("apply", at=running.folder).returncode == 0
    found = running.status()["large"]
    assert found["last_hour"]["seconds"] <= time.time() - back
    assert found["mean_seconds"] is None, "nobody knows how long its updates took"


def test_without_a_run_the_next_one_takes_the_project_as_it_is(tmp_path: Path, spark: SparkSession) -> None:
    made = Running(tmp_path / "shop", spark)
    made.land("sales", "first", 10, 60)
    made.wait_for("large", 60)
    made.stop()
    done = freshtide("apply", at=made.folder)
    assert done.returncode == 0
    assert "The next run takes the project as it is: 2 tables, 1 feed." in done.stdout


def test_with_watch_it_follows_its_files_and_tells_once_of_those_that_cannot_take_effect(
    tmp_path: Path, spark: SparkSession
) -> None:
    made = Running(tmp_path / "shop", spark, watch=True)
    try:
        made.land("sales", "first", 10, 60)
        made.wait_for("large", 60)
        made.write("tables/tables.sql", TABLES.replace("v > 50", "w > 50"))
        wait_until(lambda: any("cannot take effect" in sentence for sentence in made.news))
        made.land("sales", "second", 70)
        made.wait_for("large", 60, 70)
        made.write(
            "tables/tables.sql", TABLES + "CREATE MATERIALIZED VIEW small AS SELECT ts, v FROM sales WHERE v < 50;"
        )
        made.wait_for("small", 10)
        assert len([sentence for sentence in made.news if "cannot take effect" in sentence]) == 1
        assert any(sentence.startswith("Changed: table small added") for sentence in made.news)
    finally:
        made.stop()
