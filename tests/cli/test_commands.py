"""The command line as a user types it: output, exit codes, messages."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from freshtide.catalog import RunLock, lease_folder
from freshtide.project import create_starter
from tests.catalogs import use_catalog


def freshtide(*words: str, at: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "freshtide", *words],
        cwd=at,
        env={**os.environ, "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def answer(*words: str, at: Path, code: int = 0) -> Any:
    """What a command prints with --json."""
    done = freshtide(*words, "--json", at=at)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A starter project that has run once."""
    folder = tmp_path_factory.mktemp("cli") / "shop"
    created = freshtide("init", "shop", at=folder.parent)
    assert created.returncode == 0, created.stderr
    use_catalog(folder)
    summary = answer("run", "--once", at=folder)
    assert summary["updates"] >= 4
    assert summary["failed"] == {}
    return folder


def broken(folder: Path, file: str, text: str) -> Path:
    """A starter project with something wrong in it."""
    create_starter(folder, folder.name)
    (folder / file).write_text(text)
    return folder


def test_status_shows_every_table_and_its_sources_first(shop: Path) -> None:
    tables = answer("status", at=shop)["tables"]
    names = [table["name"] for table in tables]
    assert names[0] == "orders"
    assert {"orders_per_hour", "large_orders"} <= set(names)
    assert all(table["updates"] == 1 and table["pending"] == 0 for table in tables)
    assert all(name in freshtide("status", at=shop).stdout for name in names)


def test_status_can_be_narrowed_to_some_tables(shop: Path) -> None:
    tables = answer("status", "--select", "+orders_per_hour", at=shop)["tables"]
    assert [table["name"] for table in tables] == ["orders", "orders_per_hour"]


def test_counts_prove_that_no_row_is_lost(shop: Path) -> None:
    (count,) = answer("status", "--counts", at=shop)["counts"]
    samples = (shop / "landing" / "orders").glob("*.csv")
    assert count["arrived"] == count["in_table"] == sum(len(f.read_text().splitlines()) - 1 for f in samples)
    assert count["unaccounted"] == 0


def test_freshness_ends_with_1_when_a_target_lag_is_broken(shop: Path) -> None:
    tables = {table["name"]: table for table in answer("freshness", at=shop, code=1)["tables"]}
    assert tables["orders_per_hour"]["within_target"] is False
    assert answer("freshness", "-s", "large_orders", at=shop)["tables"][0]["within_target"] is None


def test_explain_names_the_source_that_holds_a_table_back(shop: Path) -> None:
    told = answer("explain", "orders_per_hour", at=shop)
    assert told["limited_by"] == ["orders_per_hour", "orders"]
    assert any("'orders'" in sentence for sentence in told["sentences"])


def test_query_answers_with_rows(shop: Path) -> None:
    told = answer("query", "SELECT count(*) AS n FROM orders", "--stable", at=shop)
    assert told["columns"] == ["n"]
    assert told["rows"][0]["n"] > 0
    assert told["as_of"] is not None


def test_audit_passes_on_every_view(shop: Path) -> None:
    results = answer("audit", at=shop)
    assert len(results) >= 3
    assert all(result["passed"] for result in results)


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_listed_with_its_reason_and_can_be_retried(shop: Path) -> None:
    bad = shop / "landing" / "orders" / "bad.csv"
    bad.write_bytes(b"order_id,ordered_at\xff\n")
    os.utime(bad, (1, 1))
    assert answer("run", "--once", at=shop)["failed"] == {}
    (feed,) = answer("feeds", at=shop)
    (trouble,) = feed["troubled"]
    assert trouble["path"].endswith("bad.csv")
    assert trouble["reason"]
    bad.write_text("order_id,ordered_at,customer,amount\n99,2026-05-01T11:00:00Z,zoe,5.00\n")
    answer("feeds", "retry", "bad.csv", at=shop)
    answer("run", "--once", at=shop)
    told = answer("query", "SELECT customer FROM orders WHERE order_id = 99", at=shop)
    assert told["rows"] == [{"customer": "zoe"}]


def test_pause_and_resume_are_remembered_between_runs(shop: Path) -> None:
    answer("pause", "large_orders", at=shop)
    statuses = {table["name"]: table["status"] for table in answer("status", at=shop)["tables"]}
    assert statuses["large_orders"] == "paused"
    answer("resume", "large_orders", at=shop)
    statuses = {table["name"]: table["status"] for table in answer("status", at=shop)["tables"]}
    assert statuses["large_orders"] == "active"


@pytest.mark.slow
def test_backfill_rebuilds_a_table_and_its_dependents(shop: Path) -> None:
    assert "rebuilt" in answer("backfill", "orders", at=shop)["message"]
    assert all(result["passed"] for result in answer("audit", at=shop))


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (
            "tables/typo.sql",
            "CREATE MATERIALIZED VIEW v AS\nSELECT * FROM ordres",
            ["tables/typo.sql:2", "ordres", "Did you mean 'orders'?"],
        ),
        (
            "tables/lag.sql",
            "CREATE MATERIALIZED VIEW v\nTBLPROPERTIES ('target_lag'='soon')\nAS SELECT * FROM orders",
            ["tables/lag.sql:2", "'soon' is not a duration"],
        ),
        (
            "tables/append.sql",
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('maintain'='append') AS SELECT customer FROM orders",
            ["tables/append.sql:1", "time column"],
        ),
        ("tables/syntax.sql", "CREATE MATERIALIZED VIEW v AS\nSELECT FROM WHERE", ["tables/syntax.sql:2"]),
        ("freshtide.yml", "name: shop\n\ttracks: 2\n", ["freshtide.yml:2", "YAML takes no tabs"]),
        ("freshtide.yml", "name: shop\ntraks: 3\n", ["freshtide.yml:2", "traks", "tracks"]),
        ("freshtide.yml", "name: shop\ncatalog: nonsense\n", ["freshtide.yml:2", "postgresql+psycopg://"]),
        ("freshtide.yml", "catalog: mysql://db/shop\n", ["freshtide.yml:1", "SQLite or PostgreSQL"]),
        (
            "freshtide.yml",
            "name: shop\nscheduler:\n  ordering: max_benefit\n",
            ["freshtide.yml:3", "'max_benefit' is not an ordering", "Did you mean 'max-benefit'?", "edf-p, fifo"],
        ),
        ("tables/raises.py", "x = 1\nraise ValueError('no luck')\n", ["tables/raises.py:2", "no luck"]),
    ],
)
def test_a_wrong_project_gets_file_line_and_way_out_and_exit_code_2(
    tmp_path: Path, file: str, text: str, told: list[str]
) -> None:
    folder = broken(tmp_path / "shop", file, text)
    done = freshtide("run", "--once", at=folder)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for words in told:
        assert words in done.stderr
    assert not (folder / "warehouse").exists(), "nothing runs on an invalid project"


@pytest.mark.parametrize(
    ("catalog", "told"),
    [
        ("postgresql+psycopg://me:secret@localhost:9/shop", "localhost:9/shop does not answer"),
        ("postgresql+pg8000://me:secret@localhost:9/shop", "pip install 'freshtide[postgresql]'"),
        ("sqlite:////proc/freshtide/catalog.db", "/proc/freshtide"),
    ],
)
@pytest.mark.parametrize("words", [["status"], ["run", "--once"], ["doctor"]])
def test_a_catalog_that_is_away_is_told_before_spark_is_started_and_without_its_password(
    tmp_path: Path, catalog: str, told: str, words: list[str]
) -> None:
    folder = broken(tmp_path / "shop", "freshtide.yml", f"catalog: {catalog}\n")
    done = freshtide(*words, at=folder)
    assert done.returncode == 1
    assert told in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / ".freshtide" / "spark.log").exists()


def test_a_catalog_in_a_file_is_looked_for_from_the_project_wherever_the_command_is_typed(tmp_path: Path) -> None:
    folder = broken(tmp_path / "shop", "freshtide.yml", "catalog: sqlite:///state/catalog.db\n")
    answer("status", "-p", str(folder), at=tmp_path)
    answer("status", at=folder / "tables")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.db")] == ["shop/state/catalog.db"]


def test_validate_finds_columns_that_spark_cannot_resolve(tmp_path: Path) -> None:
    text = "CREATE MATERIALIZED VIEW v AS\nSELECT ordered_at,\n  amuont\nFROM orders"
    folder = broken(tmp_path / "shop", "tables/typo.sql", text)
    done = freshtide("validate", at=folder)
    assert done.returncode == 2
    assert "tables/typo.sql:3" in done.stderr
    assert "`amount`" in done.stderr


def test_syntax_that_only_spark_rejects_is_found_in_its_line(tmp_path: Path) -> None:
    text = "CREATE MATERIALIZED VIEW v AS\nSELECT ordered_at,\n  customer,,amount\nFROM orders"
    folder = broken(tmp_path / "shop", "tables/typo.sql", text)
    done = freshtide("validate", at=folder)
    assert done.returncode == 2
    assert "tables/typo.sql:3: In 'v': Syntax error at or near ','." in done.stderr


def test_without_java_a_run_says_what_to_install(shop: Path, tmp_path: Path) -> None:
    done = freshtide("run", "--once", at=shop, PATH=str(tmp_path), JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "Install Java 17" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_feed_whose_folder_is_not_there_is_told_until_it_is(tmp_path: Path) -> None:
    folder = broken(tmp_path / "shop", "README.md", "")
    landing = folder / "landing" / "orders"
    landing.rename(folder / "elsewhere")
    done = freshtide("run", "--once", at=folder)
    assert done.returncode == 0, done.stderr
    assert "1 feed in trouble" in done.stdout
    (feed,) = answer("feeds", at=folder)
    assert feed["faults"] == [f"Feed 'orders_feed': the folder {landing} does not exist. Is `path` right?"]
    assert str(landing) in freshtide("feeds", at=folder).stdout
    (folder / "elsewhere").rename(landing)
    assert answer("run", "--once", at=folder)["feeds"][0]["faults"] == []


def test_a_folder_that_is_no_project_is_told_so(tmp_path: Path) -> None:
    done = freshtide("status", at=tmp_path)
    assert done.returncode == 2
    assert "freshtide init" in done.stderr


def test_an_unknown_table_gets_a_suggestion(shop: Path) -> None:
    done = freshtide("explain", "ordres", at=shop)
    assert done.returncode == 2
    assert "Did you mean 'orders'?" in done.stderr


@pytest.mark.parametrize("words", [["nonsense"], ["status", "--nonsense"], ["explain"]])
def test_a_call_that_makes_no_sense_ends_with_2_and_says_so(shop: Path, words: list[str]) -> None:
    done = freshtide(*words, at=shop)
    assert done.returncode == 2
    assert "unexpected" not in done.stderr
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback(shop: Path) -> None:
    assert "Traceback" in freshtide("explain", "ordres", "--debug", at=shop).stderr


def test_the_trace_of_a_run_replays_and_one_that_was_changed_does_not(shop: Path, tmp_path: Path) -> None:
    told = answer("trace", "replay", at=shop)
    assert told["same"]
    assert told["decisions"] >= 4
    assert "all the same" in freshtide("trace", "replay", at=shop).stdout
    lines = (shop / ".freshtide" / "trace.jsonl").read_text().splitlines()
    changed = tmp_path / "changed.jsonl"
    at = next(number for number, line in enumerate(lines, start=1) if '"StartUpdate"' in line)
    lines[at - 1] = lines[at - 1].replace('"StartUpdate"', '"StopUpdate"')
    changed.write_text("\n".join(lines) + "\n")
    done = freshtide("trace", "replay", str(changed), at=tmp_path)
    assert done.returncode == 1
    assert f"changed.jsonl:{at}: another decision" in done.stdout
    assert "recorded: " in done.stdout
    assert "replayed: " in done.stdout
    assert answer("trace", "replay", str(changed), at=tmp_path, code=1)["difference"]["line"] == at


def test_a_file_that_is_no_trace_ends_with_2_and_names_the_line(shop: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text((shop / ".freshtide" / "trace.jsonl").read_text().splitlines()[0] + "\nnonsense\n")
    done = freshtide("trace", "replay", str(wrong), at=tmp_path)
    assert done.returncode == 2
    assert "wrong.jsonl:2: this is no line of a trace" in done.stderr


def test_doctor_says_what_is_missing_and_what_to_do(shop: Path, tmp_path: Path) -> None:
    fine = {finding["check"]: finding for finding in answer("doctor", at=shop)}
    assert fine["Java"]["ok"]
    assert fine["Scheduler"]["found"].startswith("interpreted")
    done = freshtide("doctor", "--json", at=shop, PATH=str(tmp_path), JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    missing = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert not missing["Java"]["ok"]
    assert "Install Java" in missing["Java"]["way_out"]


def test_doctor_outside_of_a_project_tells_the_way_out_once(tmp_path: Path) -> None:
    done = freshtide("doctor", at=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("freshtide init") == 1


@pytest.mark.parametrize("moment", ["the imports", "the start of Spark"])
def test_ctrl_c_during_the_start_ends_it_with_a_word_and_leaves_no_process_behind(tmp_path: Path, moment: str) -> None:
    folder = broken(tmp_path / "shop", "README.md", "")
    run = subprocess.Popen(
        [sys.executable, "-m", "freshtide", "run", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if moment == "the imports":
        while "pydantic_core" not in Path(f"/proc/{run.pid}/maps").read_text():
            assert run.poll() is None, "the run has ended"
            time.sleep(0.01)
    else:
        while not (folder / ".freshtide" / "spark.log").exists():
            assert run.poll() is None, "the run has ended"
            time.sleep(0.01)
        time.sleep(0.5)  # into the launch of Java
    os.killpg(run.pid, signal.SIGINT)
    # The pipes are closed when Java has ended too, which inherits them.
    told = run.communicate(timeout=120)[1]
    assert run.returncode == 130
    assert told == "Stopped. Nothing is lost.\n"


@pytest.mark.slow
def test_a_second_run_of_the_same_warehouse_is_refused(shop: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "freshtide", "run", "--for", "60s", "--json"],
        cwd=shop,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        look = RunLock(lease_folder(shop / "warehouse"))
        while (holder := look.holder()) is None or holder.pid != first.pid:
            assert first.poll() is None, "the first run has ended"
            time.sleep(0.1)
        done = freshtide("run", "--once", at=shop)
        assert done.returncode == 1
        assert str(first.pid) in done.stderr
        assert "paused" in answer("pause", "large_orders", at=shop)["message"]
        answer("resume", "large_orders", at=shop)
    finally:
        first.terminate()
        assert first.wait(60) == 0


HELD = """
import time
from pathlib import Path

from freshtide import materialized_view


@materialized_view(priority=100, time_column="ordered_at", maintain="append")
def held(orders):
    while Path("{flag}").exists():
        time.sleep(0.05)
    return orders.select("ordered_at", "amount")
"""


@pytest.mark.slow
def test_while_updates_wait_explain_tells_for_what(tmp_path: Path) -> None:
    folder, flag = tmp_path / "shop", tmp_path / "hold"
    assert freshtide("init", str(folder), at=tmp_path).returncode == 0
    (folder / "tables" / "held.py").write_text(HELD.format(flag=flag))
    settings = (folder / "freshtide.yml").read_text()
    (folder / "freshtide.yml").write_text(re.sub(r"(?m)^tracks:.*$", "", settings) + "\ntracks: 1\n")
    answer("run", "--once", at=folder)
    run = subprocess.Popen(
        [sys.executable, "-m", "freshtide", "run", "--for", "150s", "--json"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        trace = folder / ".freshtide" / "trace.jsonl"
        _until(lambda: trace.read_text().count('"begins"') == 2)
        flag.touch()
        new = folder / "landing" / "orders" / "new.csv"
        new.write_text("order_id,ordered_at,customer,amount\n9001,2026-06-01T12:00:00Z,zoe,500.00\n")
        told: dict[str, Any] = {}

        def waiting() -> bool:
            told.update(answer("explain", "orders_per_hour", at=folder))
            return bool(told["waits"] == "home track 0 ('held') is busy")

        _until(waiting)
        assert told["lane"]["home"] == [0]
        assert told["benefit"] > 0.0
        assert any(sentence == "It waits: home track 0 ('held') is busy." for sentence in told["sentences"])
        assert answer("explain", "held", at=folder)["waits"] is None
        parent = answer("explain", "orders", at=folder)["priority"]
        assert (parent["scheduled"], parent["inherited_from"]) == (100.0, ["held"])
    finally:
        flag.unlink(missing_ok=True)
        run.terminate()
        assert run.wait(60) == 0
    assert answer("trace", "replay", at=folder)["same"]


def _until(reached: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.2)
