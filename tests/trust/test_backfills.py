"""A rebuild reaches every view by whatever calendar, and says what it did and what it did not."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from freshtide.catalog import Catalog, RequestKind, TableRow
from freshtide.cli.controlling import ask
from freshtide.core.errors import RunFailedError
from freshtide.observe import explain
from freshtide.project import load_project
from freshtide.requests import NothingToRebuildError
from freshtide.runs import Places
from freshtide.runtime.pieces import PieceSizes
from freshtide.runtime.rebuilds import RebuildPart
from freshtide.storage import Change, Prepared, Store, Writer, stored_rows
from tests.warehouse.shop import Shop

_BY = "SELECT date_trunc('{unit}', ts) AS {unit}, sum(v) AS total FROM sales GROUP BY 1"


def test_views_by_calendar_units_follow_the_rebuild_of_their_table(shop: Shop) -> None:
    shop.events("sales")
    for unit in ("week", "month", "quarter", "year"):
        shop.view(f"by_{unit}", _BY.format(unit=unit))
    shop.view("months", "SELECT month, total FROM by_month")
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", 2)])
    shop.load()
    told = shop.warehouse.backfill("sales")
    assert told.startswith("'sales' has been rebuilt, and so has all that depends on it: ")
    assert all(f"'{name}'" in told for name in ("by_week", "by_month", "by_quarter", "by_year", "months"))
    assert [row["total"] for row in shop.rows("months")] == [3]
    shop.check()


def test_a_rebuild_tells_what_it_could_not_reach(shop: Shop) -> None:
    shop.events("sales")
    shop.view("doubled", "SELECT ts, k, v * 2 AS v FROM sales")
    shop.view("halved", "SELECT ts, k, v / 2 AS v FROM doubled")
    shop.view("plain", "SELECT ts, k FROM sales")
    shop.drop_events("sales", "1.csv", [(1, "a", 1)])
    shop.load()
    shop.warehouse.pause("doubled")
    before = {name: shop.last_commit(name) for name in ("doubled", "halved", "plain")}
    with pytest.raises(RunFailedError) as failed:
        shop.warehouse.backfill("sales")
    assert str(failed.value) == (
        "'sales' has been rebuilt, and so has 'plain'. Not rebuilt: 'doubled', which is paused; 'halved', which waits "
        "for 'doubled'. They are rebuilt after `freshtide resume doubled`."
    )
    after = {name: shop.last_commit(name) for name in before}
    assert [name for name in before if before[name] != after[name]] == ["plain"]

    bench = shop.warehouse.workbench
    told = " ".join(explain(shop.warehouse.project, bench.catalog, "halved", bench.clock.now()).sentences)
    assert "'doubled', which its rows come through, is paused" in told
    assert "`freshtide resume doubled`" in told

    shop.warehouse.resume("doubled")
    shop.load()
    after = {name: shop.last_commit(name) for name in before}
    assert [name for name in before if before[name] != after[name]] == ["doubled", "halved", "plain"]
    assert shop.warehouse.backfill("halved") == "'halved' has been rebuilt; nothing depends on it."


def test_a_rebuild_of_what_has_failed_is_refused_with_the_reason(shop: Shop) -> None:
    shop.events("sales")
    shop.drop_events("sales", "1.csv", [(1, "a", 1)])
    shop.load()
    shop.warehouse.workbench.catalog.tables.set_status("sales", "failed", "Something is wrong.")
    with pytest.raises(RunFailedError, match=r"'sales' has failed, .*Something is wrong\..*freshtide resume sales"):
        shop.warehouse.backfill("sales")


def test_a_rebuild_holds_each_file_once_whatever_was_in_the_table(shop: Shop) -> None:
    shop.events("sales")
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", 2)])
    shop.load()
    # Another writer, which nobody had fenced off, has loaded the same file.
    stored = Store(shop.root / "warehouse").table("sales", time_column="ts")
    snapshot = stored.recover()
    assert snapshot is not None
    assert snapshot.record is not None
    number = snapshot.number + 1
    rows = stored_rows(snapshot, snapshot.files)
    again = replace(snapshot.record, number=number, writer=Writer())
    files = tuple(stored.write(rows, number=number))
    stored.commit(Change(record=again, at=0.0, schema=snapshot.schema, add=files))
    shop.load()
    assert len(shop.rows("sales")) == 4
    shop.warehouse.backfill("sales")
    assert [(row["k"], row["v"]) for row in shop.rows("sales")] == [("a", 1), ("b", 2)]
    shop.check()


@pytest.mark.slow
def test_a_rebuild_in_parts_gives_what_a_rebuild_at_once_does(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rejects, late rows, partitions, a query that leaves rows out, and a file that is loaded in between."""
    shop.events("sales", lateness="5s")
    shop.warehouse.sql(
        "CREATE STREAMING TABLE parted PARTITIONED BY (k) AS SELECT ts, k, v FROM STREAM sales_feed WHERE v <> 3"
    )
    shop.view("by_key", "SELECT k, sum(v) AS total FROM sales GROUP BY k")
    for number in range(7):
        rows = [(10 * number, "a", number), (10 * number + 1, "b", 1), (max(0, 10 * number - 17), "c", 2)]
        shop.drop_events("sales", f"{number}.csv", [*rows, (10 * number, "d", "none")])
        if number % 3 == 2:
            shop.load()
    shop.load()
    tables = ("sales", "sales__rejects", "sales__late", "parted", "parted__rejects", "parted__late")
    for name in ("sales", "parted"):
        shop.warehouse.backfill(name)
    at_once, counted = {name: shop.bag(name) for name in tables}, shop.counts()
    assert at_once["sales__late"]
    assert at_once["sales__rejects"]
    monkeypatch.setattr(PieceSizes, "fitting", lambda *_told, **_more: 2)
    landed = iter(["late.csv"])
    keep = RebuildPart.keep

    def kept(self: RebuildPart, prepared: Prepared) -> None:
        keep(self, prepared)
        for name in landed:
            shop.drop_events("sales", name, [(70, "e", 1)])

    monkeypatch.setattr(RebuildPart, "keep", kept)
    for name in ("sales", "parted"):
        shop.warehouse.backfill(name)
    shop.load()
    after = {name: shop.bag(name) for name in tables}
    more = {name: sum((after[name] - at_once[name]).values()) for name in tables}
    assert {name: count for name, count in more.items() if count} == {"sales": 1, "parted": 1}
    assert not any(at_once[name] - after[name] for name in tables)
    assert shop.counts()["sales"].read == counted["sales"].read + 1
    kinds = [update.kind for update in shop.warehouse.workbench.catalog.updates.recent("sales", 100)]
    assert kinds.count("rebuild") >= 1 + 4, "seven files or eight, two at a time"
    shop.check()


@pytest.mark.parametrize(("status", "told"), [("failed", "'sales' has failed"), ("paused", "'sales' is paused")])
def test_a_rebuild_in_vain_is_refused_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, told: str
) -> None:
    for name, content in _PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with closing(Catalog.open(Places(load_project(tmp_path)).catalog_url)) as catalog:
        catalog.tables.put(TableRow(name="sales", status=status, reason="It was wrong.", freshness=1.0))
    # Spark would not start like this.
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(NothingToRebuildError, match=rf"{told}.*freshtide resume sales"):
        ask(tmp_path, RequestKind.BACKFILL, "sales")


_PROJECT = {
    "freshtide.yml": "name: shop\n",
    "feeds/f.yml": "path: landing/*.csv\nformat: csv\nschema: {ts: timestamp, v: int}\ntime_column: ts\n",
    "tables/sales.sql": "CREATE STREAMING TABLE sales AS SELECT * FROM STREAM f;\n",
}
