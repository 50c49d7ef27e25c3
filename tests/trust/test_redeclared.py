"""Tables that leave the project and come back."""

from __future__ import annotations

import shutil

import pytest

from tests.warehouse.shop import Shop


@pytest.mark.parametrize("deleted", [True, False])
def test_a_table_that_comes_back_has_every_row_once_with_or_without_its_folder(shop: Shop, deleted: bool) -> None:
    for name in ("a", "b"):
        shop.events(name)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    without = shop.again()
    without.events("b")
    without.load()
    if deleted:
        shutil.rmtree(shop.root / "warehouse" / "a")
    back = without.again()
    for name in ("a", "b"):
        back.events(name)
    back.load()
    back.drop_events("a", "2.csv", [(2, "x", 2)])
    back.load()
    assert sorted(row["v"] for row in back.rows("a")) == [1, 2]
    back.check()
    back.warehouse.close()
