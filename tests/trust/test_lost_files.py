"""Files of tables that somebody deleted: it is told, and mended where that is possible."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from freshtide.cli.tablechecks import check_tables
from freshtide.storage import StorageError, Store
from tests.trust.runs import Running
from tests.warehouse.shop import Shop


def declared(shop: Shop) -> Shop:
    shop.events("a")
    shop.view("sums", "SELECT date_trunc('minute', ts) AS minute, sum(v) AS v FROM a GROUP BY 1")
    return shop


@pytest.fixture
def filled(shop: Shop) -> Shop:
    declared(shop)
    for number in (1, 2):
        shop.drop_events("a", f"{number}.csv", [(60 * number, "x", number), (60 * number + 1, "y", number)])
        shop.load()
    return shop


def lose_one(shop: Shop, table: str) -> None:
    snapshot = Store(shop.root / "warehouse").table(table).snapshot
    assert snapshot is not None
    (snapshot.folder / snapshot.files[0].path).unlink()


@pytest.mark.parametrize("table", ["a", "sums"])
def test_a_table_that_lost_a_file_is_told_of_and_computed_anew(filled: Shop, table: str) -> None:
    before = {name: filled.bag(name) for name in ("a", "sums")}
    lose_one(filled, table)
    findings = {finding.check: finding for finding in check_tables(filled.warehouse.project)}
    assert not findings[f"Table '{table}'"].ok
    again = declared(filled.again())
    if table == "a":
        assert again.counts()["a"].unaccounted != 0
    news: list[str] = []
    report = again.warehouse.run(once=True, on_news=news.append)
    assert report.failed == {}
    assert [sentence for sentence in news if f"'{table}' has lost Parquet files" in sentence]
    assert {name: again.bag(name) for name in ("a", "sums")} == before
    again.check()
    assert all(finding.ok for finding in check_tables(again.warehouse.project))
    again.warehouse.close()


@pytest.mark.parametrize("table", ["a", "sums"])
def test_a_folder_that_is_removed_under_a_run_costs_no_row_and_doubles_none(filled: Shop, table: str) -> None:
    run = Running(filled)
    filled.drop_events("a", "3.csv", [(180, "x", 3)])
    run.wait_for(lambda: filled.freshness("sums") == 180)
    shutil.rmtree(filled.root / "warehouse" / table)
    filled.drop_events("a", "4.csv", [(240, "x", 4)])
    run.wait_for(lambda: filled.warehouse.workbench.catalog.tables.get(table).status == "failed")
    filled.drop_events("a", "5.csv", [(300, "x", 5)])
    run.end()
    assert run.report is not None
    assert "removed or replaced" in run.report.failed[table]
    again = declared(filled.again())
    again.warehouse.resume(table)
    again.load()
    assert sorted(row["v"] for row in again.rows("a")) == [1, 1, 2, 2, 3, 4, 5]
    assert again.freshness("sums") == 300
    again.check()
    again.warehouse.close()


def test_what_cannot_be_mended_fails_with_the_file_that_is_missing(filled: Shop) -> None:
    lose_one(filled, "a")
    gone = filled.root / "landing" / "a" / "1.csv"
    gone.unlink()
    again = declared(filled.again())
    report = again.warehouse.run_once()
    assert str(gone) in report.failed["a"]
    again.warehouse.close()


def test_a_table_whose_log_has_a_hole_is_made_anew_when_its_folder_is_moved_away(filled: Shop) -> None:
    before = {name: filled.bag(name) for name in ("a", "sums")}
    folder = filled.root / "warehouse" / "a"
    (folder / "_delta_log" / f"{0:020d}.json").unlink()
    again = declared(filled.again())
    with pytest.raises(StorageError, match="Entry 0 of the log of 'a' is missing") as caught:
        again.warehouse.run_once()
    assert f"{folder} from a backup, or move it away and start a run" in str(caught.value)
    (finding,) = (finding for finding in check_tables(again.warehouse.project) if finding.check == "Table 'a'")
    assert not finding.ok
    shutil.move(folder, Path(filled.root) / "aside")
    again = declared(again.again())
    again.load()
    assert {name: again.bag(name) for name in ("a", "sums")} == before
    again.check()
    again.warehouse.close()
