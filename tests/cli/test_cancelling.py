"""`freshtide backfill --cancel` where no run goes on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from freshtide.catalog import Catalog, RequestKind
from freshtide.runs import Places
from freshtide.warehouse import Warehouse
from tests.observe.shop import Shop, write_project

from .scenarios import Terminal


def test_a_backfill_that_a_run_has_left_behind_is_cancelled_and_no_other_takes_it_up(
    terminal: Terminal, tmp_path: Path
) -> None:
    shop = Shop.open(write_project(tmp_path / "shop"))
    shop.is_fresh("orders", 0.0)
    root = shop.project.root
    shop.close()
    with closing(Catalog.open(Places(shop.project).catalog_url)) as catalog:
        number = catalog.requests.add(RequestKind.BACKFILL, "orders", at=1.0)
        catalog.requests.take_up(number)
        waits = "A backfill of 'orders' waits for the next run: `freshtide run` takes it up, and"
        drop = "`freshtide backfill orders --cancel` drops it."
        assert f"{waits} {drop}" in terminal.type("status", "-p", str(root)).out
        assert f"{waits} {drop}" in terminal.type("explain", "orders", "-p", str(root)).out.replace("\n", " ")
        told = terminal.type("backfill", "ORDERS", "--cancel", "-p", str(root))
        assert told.code == 0, told.err
        assert "The backfill of 'orders' is cancelled: the table stays as it is" in told.out
        assert catalog.requests.open_after(0) == []
        assert waits not in terminal.type("status", "-p", str(root)).out
    again = terminal.type("backfill", "orders", "--cancel", "-p", str(root))
    assert again.code == 1
    assert "No backfill of 'orders' is asked for, so there is none to cancel." in again.err


def test_a_warehouse_in_python_cancels_as_well(tmp_path: Path) -> None:
    shop = Shop.open(write_project(tmp_path / "shop"))
    shop.is_fresh("orders", 0.0)
    shop.close()
    with closing(Catalog.open(Places(shop.project).catalog_url)) as catalog:
        catalog.requests.add(RequestKind.BACKFILL, "orders", at=1.0)
    with Warehouse.of_project(shop.project) as warehouse:
        assert warehouse.cancel_backfill("orders").startswith("The backfill of 'orders' is cancelled")
