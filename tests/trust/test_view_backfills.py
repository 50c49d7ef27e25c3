"""Views that Spark computes anew in parts hold what they do when they are computed at once."""

from __future__ import annotations

import pytest

from freshtide.runtime.pieces import PieceSizes
from freshtide.runtime.viewrebuilds import ViewPart
from freshtide.storage import Prepared
from tests.warehouse.shop import Shop

_BY_MINUTE = "SELECT date_trunc('minute', ts) AS minute, k, sum(v) AS total, count(*) AS n FROM sales GROUP BY 1, 2"
_VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    "plain": ("SELECT ts, k, v * 2 AS v FROM sales WHERE v <> 3", {}),
    "by_minute": (_BY_MINUTE, {}),
    "closed_minutes": (_BY_MINUTE, {"emit": "closed"}),
    "by_hour": ("SELECT date_trunc('hour', minute) AS hour, sum(total) AS total FROM by_minute GROUP BY 1", {}),
    "met": ("SELECT s.ts, s.k, s.v, p.v AS price FROM sales s JOIN prices p ON s.ts = p.ts AND s.k = p.k", {}),
    "totals": ("SELECT k, sum(v) AS total FROM sales GROUP BY k", {}),
}
_IN_PARTS = ("plain", "by_minute", "closed_minutes", "by_hour", "met")


def declare(shop: Shop, **changed: str) -> None:
    shop.events("sales")
    shop.events("prices")
    for name, (query, properties) in _VIEWS.items():
        shop.view(name, changed.get(name, query), **properties)


def drop(shop: Shop, number: int) -> None:
    """Four and a half hours in two dozen files, and keys that meet."""
    at = 700 * number
    shop.drop_events("sales", f"{number}.csv", [(at + 97 * n, "abc"[n % 3], n) for n in range(7)])
    shop.drop_events("prices", f"{number}.csv", [(at + 97 * n, "abc"[n % 2], 10 + n) for n in range(7)])


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Parts are small from now on; by view how many others than the last one were written."""
    written: dict[str, int] = {}
    keep = ViewPart.keep

    def kept(self: ViewPart, prepared: Prepared) -> None:
        written[prepared.own[0].name] = written.get(prepared.own[0].name, 0) + 1
        keep(self, prepared)

    monkeypatch.setattr(ViewPart, "keep", kept)
    monkeypatch.setattr(PieceSizes, "span", lambda *_told, **_more: 1_500.0)
    return written


@pytest.mark.slow
def test_views_that_are_computed_anew_in_parts_are_what_they_are_at_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(shop)
    for number in range(24):
        drop(shop, number)
        if number % 4 == 3:
            shop.load()
    at_once = {name: shop.bag(name) for name in _VIEWS}
    freshness = {name: shop.freshness(name) for name in _VIEWS}
    written = counted(monkeypatch)
    for name in _VIEWS:
        shop.warehouse.backfill(name)
        assert shop.bag(name) == at_once[name], name
    assert {name: written[name] >= 2 for name in written} == dict.fromkeys(_IN_PARTS, True)
    assert {name: shop.freshness(name) for name in _VIEWS} == freshness
    shop.check()

    # A source is computed anew: so is all that is made of it, and it goes in parts as well.
    written.clear()
    shop.warehouse.backfill("sales")
    assert set(written) == set(_IN_PARTS)
    assert {name: shop.bag(name) for name in _VIEWS} == at_once
    shop.check()

    # So does a view that is defined anew, and what is made of it.
    written.clear()
    anew = shop.again()
    declare(anew, by_minute=_BY_MINUTE.replace("sum(v)", "max(v)"))
    drop(anew, 24)
    anew.load()
    assert set(written) == {"by_minute", "by_hour"}
    assert anew.bag("by_minute") != at_once["by_minute"]
    anew.check()


@pytest.mark.slow
def test_new_views_over_a_long_history_come_forward_piece_by_piece(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.events("sales")
    shop.events("prices")
    for number in range(24):
        drop(shop, number)
        if number % 4 == 3:
            shop.load()
    counted(monkeypatch)
    again = shop.again()
    declare(again)
    again.load()
    updates = again.warehouse.workbench.catalog.updates
    for name in _IN_PARTS:
        done = [update for update in updates.recent(name, 100) if update.status == "done"]
        assert len(done) >= 2, name
    again.check()
