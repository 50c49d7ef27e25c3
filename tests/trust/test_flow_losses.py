"""Of tables that one update commits together somebody deletes a part: all is there again, and each row once."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from freshtide import Flow
from freshtide.cli.tablechecks import check_tables
from freshtide.storage import Store
from tests.trust import test_awaited_tables
from tests.warehouse.shop import Shop
from tests.warehouse.test_flow_loads import declare, keyed, keys_in_files

TABLES = ("sales", "unpriced", "changes", "sales__rejects", "sales__late", "minutes", "other")
Damage = Callable[[Shop, str], object]


def declared(shop: Shop, *, dated: bool = True) -> Shop:
    """A table with rejects and late rows; its flow writes a table, files and a history beside it. And another table."""
    flow = Flow("priced")
    complete = flow.read(feed="sales_feed").not_null("v")
    taxed = complete.expression({"tax": "v * 10"})
    taxed.write(table="sales")
    complete.quarantine.write(table="unpriced")
    taxed.only("k").write(files="out/keys")
    changes = taxed.only("k", "v", as_of="ts") if dated else taxed.only("k", "v")
    changes.slowly_changing(table="changes", key="k", type=2, as_of="as_of" if dated else None)
    declare(shop, flow, lateness="5s")
    shop.events("other")
    return shop


@pytest.fixture
def filled(shop: Shop) -> Shop:
    declared(shop)
    shop.drop_events("sales", "1.csv", [(11, "a", 1), (12, "b", ""), (13, "c", "none")])
    shop.load()
    shop.drop_events("sales", "2.csv", [(4, "late", 4), (70, "a", 2), (71, "d", ""), (72, "e", "none")])
    shop.load()
    shop.drop_events("other", "1.csv", [(1, "x", 1)])
    shop.load()
    return shop


def take_away(shop: Shop, table: str) -> None:
    shutil.rmtree(shop.root / "warehouse" / table)


def tear(shop: Shop, table: str) -> None:
    entry = shop.last_commit(table)
    entry.write_bytes(entry.read_bytes()[:-40])


def lose_a_file(shop: Shop, table: str) -> None:
    snapshot = Store(shop.root / "warehouse").table(table).snapshot
    assert snapshot is not None
    (snapshot.folder / snapshot.files[0].path).unlink()


def run(shop: Shop) -> list[str]:
    """Load all that is there; what is told."""
    news: list[str] = []
    assert shop.warehouse.run(once=True, on_news=news.append).failed == {}
    return news


def holdings(shop: Shop) -> dict[str, object]:
    return {"files": keys_in_files(shop), **{name: shop.bag(name) for name in TABLES}}


def found(shop: Shop) -> dict[str, str]:
    """Checks of `doctor --deep` that fail, by table."""
    return {finding.check: finding.found for finding in check_tables(shop.warehouse.project) if not finding.ok}


@pytest.mark.parametrize(
    "damages",
    [
        pytest.param([("sales", take_away), ("sales", tear), ("sales", lose_a_file)], id="the table"),
        pytest.param(
            [("unpriced", take_away), ("unpriced", lose_a_file), ("changes", lose_a_file), ("changes", tear)],
            id="other targets of its flow",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            [("sales__rejects", take_away), ("sales__rejects", tear), ("sales__late", take_away)],
            id="tables beside it",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_is_lost_is_told_and_made_anew_and_nothing_is_there_twice(
    filled: Shop, damages: list[tuple[str, Damage]]
) -> None:
    before, shop = holdings(filled), filled
    for table, damage in damages:
        damage(shop, table)
        shop = declared(shop.again())
        assert f"Table '{table}'" in found(shop)
        assert shop.counts()["sales"].faults
        assert any(f"'{table}' has lost" in sentence for sentence in run(shop)), (table, damage)
        assert holdings(shop) == before, (table, damage)
        assert (found(shop), shop.counts()["sales"].faults) == ({}, ())
    shop.check()

    shop = declared(shop.again())
    shop.drop_events("sales", "3.csv", [(90, "i", 6), (91, "j", "")])
    assert run(shop) == []
    assert keyed(shop, "unpriced") == {"b": 1, "d": 1, "j": 1}
    shop.check()
    shop.warehouse.close()


@pytest.mark.slow
def test_a_table_and_the_catalog_that_are_both_lost_double_nothing(filled: Shop) -> None:
    before = holdings(filled)
    take_away(filled, "sales")
    filled.lose_catalog()
    again = declared(filled.again())
    run(again)
    assert holdings(again) == before
    again.check()
    again.warehouse.close()


@pytest.mark.slow
def test_a_table_goes_on_where_what_belongs_to_it_cannot_be_made_anew(filled: Shop) -> None:
    take_away(filled, "sales__rejects")
    take_away(filled, "unpriced")
    gone = filled.root / "landing" / "sales" / "1.csv"
    content = gone.read_text()
    gone.unlink()
    again = declared(filled.again())
    again.drop_events("sales", "4.csv", [(90, "i", 6), (91, "j", ""), (92, "k", "")])
    told = [sentence for sentence in run(again) if "has lost" in sentence]
    assert len(told) == 2
    assert all(str(gone) in sentence and "freshtide backfill sales" in sentence for sentence in told)
    assert keyed(again, "sales")["i"] == 1
    # It stays so, however often the flow writes there.
    again.drop_events("sales", "5.csv", [(100, "l", "")])
    run(again)
    assert "'unpriced' has lost what runs of its flow wrote, 2 of them" in again.counts()["sales"].faults
    again.drop("sales", "1.csv", content)
    again.warehouse.backfill("sales")
    assert keyed(again, "unpriced")["b"] == 1
    assert len(again.rows("sales__rejects")) == 2
    assert again.counts()["sales"].faults == ()
    again.check()
    again.warehouse.close()


@pytest.mark.slow
def test_a_history_that_cannot_be_had_again_is_told_and_begins_anew_when_it_is_moved_away(shop: Shop) -> None:
    declared(shop, dated=False)
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", "")])
    shop.load()
    lose_a_file(shop, "changes")
    again = declared(shop.again(), dated=False)
    again.drop_events("other", "1.csv", [(90, "x", 1)])
    report = again.warehouse.run_once()
    assert list(report.failed) == ["sales"]
    assert "'changes', which the flow goes on from, has lost Parquet files, 1 of them" in report.failed["sales"]
    assert len(again.rows("other")) == 1
    take_away(again, "changes")
    again = declared(again.again(), dated=False)
    again.warehouse.resume("sales")
    run(again)
    assert keyed(again, "changes") == keyed(again, "sales") == {"a": 1}
    assert keyed(again, "unpriced") == {"b": 1}
    again.check()
    again.warehouse.close()


def test_all_tables_are_lost_and_a_flow_reads_one_of_them(shop: Shop) -> None:
    test_awaited_tables.declare(shop)
    shop.drop_events("prices", "1.csv", [(0, "a", 7)])
    shop.drop_events("a_sales", "1.csv", [(1, "a", 1)])
    shop.load()
    before = {name: shop.bag(name) for name in ("a_sales", "prices", "price_list")}
    for name in before:
        take_away(shop, name)
    again = shop.again()
    test_awaited_tables.declare(again)
    again.load()
    assert {name: again.bag(name) for name in before} == before
    again.check()
    again.warehouse.close()


def test_what_only_runs_of_a_flow_write_is_told(shop: Shop) -> None:
    def again(shop: Shop) -> Shop:
        flow = Flow("copies")
        flow.read(table="sales").write(table="copied")
        shop.events("sales")
        shop.warehouse.flow(flow)
        return shop

    again(shop)
    shop.drop_events("sales", "1.csv", [(1, "a", 1)])
    shop.load()
    shop.warehouse.run_flow("copies")
    lose_a_file(shop, "copied")
    shop = again(shop.again())
    assert "Table 'copied'" in found(shop)
    (told,) = run(shop)
    assert "'copied' has lost Parquet files, 1 of them" in told
    assert "`freshtide flow run copies`" in told
    shop.warehouse.run_flow("copies")
    assert (keyed(shop, "copied"), found(shop)) == ({"a": 1}, {})
    shop.warehouse.close()
