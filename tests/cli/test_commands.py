"""Commands about a warehouse that has run: what they print, and how they end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.spark import SparkSession
from tests.catalogs import use_catalog
from tests.commands import answer, freshtide, leaving_spark_to_others


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Path]:  # noqa: ARG001 - commands find it
    """A starter project that has run once; its commands share the Spark of all tests."""
    folder = tmp_path_factory.mktemp("cli") / "shop"
    created = freshtide("init", "shop", at=folder.parent)
    assert created.returncode == 0, created.stderr
    use_catalog(folder)
    with leaving_spark_to_others():
        summary = answer("run", "--once", at=folder)
        assert summary["updates"] >= 4
        assert summary["failed"] == {}
        yield folder


def test_a_new_project_is_valid_and_promises_nothing_impossible(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    assert freshtide("init", "fresh", at=tmp_path).returncode == 0
    with leaving_spark_to_others():
        valid = answer("validate", at=tmp_path / "fresh")
    assert (valid["valid"], valid["notes"]) == (True, [])
    plan = answer("plan", at=tmp_path / "fresh")
    targets = {table["name"]: table["target_lag"] for table in plan["tables"]}
    assert targets["orders_per_hour"] == 7_200.0, "a target that can be kept, of files that come every hour"


def test_validate_and_explain_say_how_views_are_computed_and_why(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    folder = tmp_path / "fresh"
    assert freshtide("init", "fresh", at=tmp_path).returncode == 0
    use_catalog(folder)
    totals = "CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) AS n FROM orders GROUP BY customer;"
    some = "CREATE MATERIALIZED VIEW some AS SELECT customer FROM orders LIMIT 1000;"
    (folder / "tables" / "more.sql").write_text(f"{totals}\n{some}\n")
    with leaving_spark_to_others():
        answer("run", "--once", at=folder)
        said = freshtide("validate", at=folder).stdout
        told = {table["name"]: table for table in answer("validate", at=folder)["tables"]}
    assert "'totals' is computed in full or from changes, whichever takes less time. The last update was" in said
    assert "'some' is computed in full: LIMIT without ORDER BY has no rule. Without that it could be" in said
    assert (told["totals"]["is_chosen"], told["orders_per_hour"]["is_chosen"]) == (True, False)
    assert told["totals"]["chosen_last"].startswith("computed in full: ")
    (story,) = [one for one in answer("explain", "totals", at=folder)["sentences"] if one.startswith("Each update")]
    assert told["totals"]["chosen_last"] in story


def test_status_shows_every_table_and_its_sources_first(shop: Path) -> None:
    tables = answer("status", at=shop)["tables"]
    names = [table["name"] for table in tables]
    assert names[0] == "orders"
    assert {"orders_per_hour", "large_orders"} <= set(names)
    assert all(table["updates"] == 1 and table["pending"] == 0 for table in tables)
    assert all(name in freshtide("status", at=shop).stdout for name in names)


def test_a_run_ends_with_what_the_tables_add_up_to(shop: Path) -> None:
    told = freshtide("run", "--once", at=shop)
    assert told.returncode == 0
    assert "Weighted staleness: " in told.stdout
    assert "Weighted lateness: " in told.stdout
    (row,) = [line for line in told.stdout.splitlines() if line.strip().startswith("orders_per_hour")]
    assert "0% of " in row, "what it holds is months old, and has been there for a moment"
    summary = answer("run", "--once", at=shop)
    now, hour = summary["objective"]["now"], summary["objective"]["last_hour"]
    tables = {table["name"]: table for table in summary["tables"]}
    assert now["weighted_staleness"] == pytest.approx(sum(t["priority"] * t["staleness"] for t in tables.values()))
    late = tables["orders_per_hour"]["staleness"] - 7_200.0
    assert now["weighted_lateness"] == pytest.approx(tables["orders_per_hour"]["priority"] * late)
    assert 0.0 < hour["weighted_staleness"] < now["weighted_staleness"]
    assert tables["orders_per_hour"]["last_hour"]["share_within_target"] == 0.0


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


def test_backfill_rebuilds_a_table_and_its_dependents(shop: Path) -> None:
    assert "rebuilt" in answer("backfill", "orders", at=shop)["message"]
    assert all(result["passed"] for result in answer("audit", at=shop))


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
