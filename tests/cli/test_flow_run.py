"""freshtide flow run, as a user types it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from freshtide.spark import SparkSession
from tests.commands import answer, freshtide, leaving_spark_to_others

_FLOW = """\
activities:
  orders:
    read: {files: landing/*.csv, format: csv, schema: {id: int, amount: double}}
  complete: {not_null: amount, from: orders}
  sizes:
    router: {routes: {small: amount < 50, large: amount >= 50}}
    from: complete
  few: {write: {table: small_orders}, from: sizes.small}
  totals: {aggregate: {columns: {total: sum(amount)}}, from: sizes.large}
  many: {write: {table: totals}, from: totals}
"""


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Iterator[Path]:  # noqa: ARG001 - commands find it
    """A project of one flow, and what it reads."""
    (tmp_path / "freshtide.yml").write_text("name: shop\n", encoding="utf-8")
    for folder in ("flows", "landing"):
        (tmp_path / folder).mkdir()
    (tmp_path / "flows" / "orders.yml").write_text(_FLOW, encoding="utf-8")
    (tmp_path / "landing" / "one.csv").write_text("1,10\n2,60\n3,\n4,70\n", encoding="utf-8")
    with leaving_spark_to_others():
        yield tmp_path


def test_a_run_tells_the_rows_of_each_activity_and_commits_its_targets(shop: Path) -> None:
    told = answer("flow", "run", "Orders", "--policy", "rr", "--queue", "1", "--pack-rows", "2", at=shop)
    assert told["policy"] == "round-robin"
    assert told["targets"] == {"table small_orders": 1, "table totals": 1}
    activities = told["activities"]
    assert activities["complete"]["rows_in"] == 4
    assert activities["complete"]["rows_out"] == {"out": 3, "quarantine": 1}
    assert activities["sizes"]["rows_out"] == {"small": 1, "large": 2, "otherwise": 0}

    again = freshtide("flow", "run", "orders", "--memory", "1MB", at=shop)
    assert again.returncode == 0, again.stderr
    assert "Committed 2 targets together, under mixed" in again.stdout
    assert "3, 1 quarantine" in again.stdout
    assert pl.read_delta(str(shop / "warehouse" / "totals")).rows() == [(130.0,)]


def test_mistakes_are_told_without_starting_spark(shop: Path) -> None:
    wrong = {
        ("flow", "run", "order"): "There is no flow 'order'. Did you mean 'orders'?",
        ("flow", "run", "orders", "--policy", "fast"): "There is no policy 'fast'.",
        ("flow", "run", "orders", "--memory", "much"): "'much' is not a size.",
        ("flow", "run", "orders", "--queue", "0"): "A queue of 0 packs can never pass anything on.",
    }
    for words, message in wrong.items():
        told = freshtide(*words, at=shop)
        assert told.returncode in {1, 2}
        assert message in " ".join(told.stderr.split())
        assert "Traceback" not in told.stderr
        assert "Starting Spark" not in told.stderr


def test_a_flow_that_fails_says_where_and_ends_with_an_error(shop: Path) -> None:
    flow = _FLOW.replace("amount < 50", "\"CAST(concat('no ', id) AS INT) < 50\"")
    (shop / "flows" / "orders.yml").write_text(flow, encoding="utf-8")
    told = freshtide("flow", "run", "orders", at=shop)
    assert told.returncode == 1
    assert "Activity 'sizes' failed at pack 1: The value 'no 1'" in told.stderr
    assert "Nothing was committed." in told.stderr
    assert not list((shop / "warehouse").glob("*/_delta_log"))
