"""A query that says the same in other words: its view, and those above it, stay as they are."""

from __future__ import annotations

import pytest

from freshtide.core.choosing import Way
from freshtide.storage import Snapshot
from tests.warehouse.choosing import record_of, way_of
from tests.warehouse.shop import Shop

PER_KEY = "SELECT k, count(*) AS n, sum(v) AS total FROM a WHERE v >= 0 AND k <> 'q' GROUP BY k"
IN_OTHER_WORDS = (
    "WITH kept AS (SELECT * FROM a WHERE NOT (k = 'q')) "
    "SELECT g.k, count(1) AS n, sum(g.v) AS total FROM kept AS g WHERE 0 <= g.v GROUP BY g.k"
)
OF_IT = "SELECT max(total) AS top FROM per_key"
BUSY, BUSY_TOO = "SELECT ts, k, v FROM a WHERE v > 1", "SELECT x.ts, x.k, x.v FROM (SELECT * FROM a) AS x WHERE x.v > 1"


def declared(shop: Shop, per_key: str, busy: str = BUSY, **properties: str) -> Shop:
    shop.events("a")
    shop.view("per_key", per_key, **properties)
    shop.view("tops", OF_IT)
    shop.view("busy", busy)
    return shop


def drop(shop: Shop, turn: int) -> None:
    shop.drop_events("a", f"{turn}.csv", [(turn * 10 + at, "xyzq"[(turn + at) % 4], at) for at in range(5)])
    shop.load()
    shop.check()


def snapshot_of(shop: Shop, table: str) -> Snapshot:
    snapshot = shop.warehouse.workbench.store.table(table).snapshot
    assert snapshot is not None
    return snapshot


def files_of(shop: Shop) -> dict[str, set[str]]:
    return {name: {file.path for file in snapshot_of(shop, name).files} for name in ("per_key", "tops", "busy")}


@pytest.fixture
def loaded(shop: Shop) -> Shop:
    declared(shop, PER_KEY)
    for turn in range(2):
        drop(shop, turn)
    return shop


def test_nothing_is_computed_where_the_plan_is_the_same(loaded: Shop) -> None:
    before, definitions = files_of(loaded), {name: record_of(loaded, name).definition for name in files_of(loaded)}
    again = declared(loaded.again(), IN_OTHER_WORDS, BUSY_TOO)
    assert set(again.warehouse.workbench.computer.former) == {"per_key", "tops", "busy"}
    again.load()
    # They are known by their new definitions, and no file was written for that.
    assert files_of(again) == before
    assert all(record_of(again, name).definition != definition for name, definition in definitions.items())
    assert all(record_of(again, name).revised_from is None for name in definitions)
    again.check()
    # Once more, and there is nothing to be said.
    numbers = {name: record_of(again, name).number for name in definitions}
    third = declared(again.again(), IN_OTHER_WORDS, BUSY_TOO)
    third.load()
    assert {name: record_of(third, name).number for name in definitions} == numbers


def test_what_has_come_meanwhile_is_all_that_is_computed(loaded: Shop) -> None:
    before = files_of(loaded)["busy"]
    again = declared(loaded.again(), IN_OTHER_WORDS, BUSY_TOO)
    drop(again, 2)
    assert before < files_of(again)["busy"]


@pytest.mark.parametrize(
    ("words", "way"),
    [(PER_KEY.replace("FROM a", "FROM (SELECT * FROM a)"), Way.CHANGES), (IN_OTHER_WORDS, Way.ANEW)],
    ids=["the same columns by the same names", "other names on the way"],
)
def test_what_is_kept_for_changes_is_followed_if_it_is_surely_the_same(shop: Shop, words: str, way: Way) -> None:
    declared(shop, PER_KEY, maintain="incremental")
    for turn in range(3):
        drop(shop, turn)
    before = files_of(shop)["per_key"]
    again = declared(shop.again(), words, maintain="incremental")
    again.load()
    assert files_of(again)["per_key"] == before
    drop(again, 3)
    assert way_of(again, "per_key") is way


@pytest.mark.parametrize(
    "other",
    [
        PER_KEY.replace(">= 0", "> 0"),
        PER_KEY.replace("AS n", "AS m"),
        PER_KEY.replace("k, count(*) AS n", "count(*) AS n, k"),
        PER_KEY.replace("sum(v)", "CAST(sum(v) AS INT)"),
    ],
    ids=["another condition", "another name", "another order", "another type"],
)
def test_what_gives_other_rows_or_columns_is_computed_anew(loaded: Shop, other: str) -> None:
    before = files_of(loaded)
    again = declared(loaded.again(), other)
    assert not again.warehouse.workbench.computer.former
    again.load()
    again.check()
    assert files_of(again)["per_key"].isdisjoint(before["per_key"])
    assert files_of(again)["busy"] == before["busy"]


def test_the_catalog_that_knows_the_former_words_can_be_lost(loaded: Shop) -> None:
    loaded.warehouse.close()
    loaded.lose_catalog()
    again = declared(loaded.again(), IN_OTHER_WORDS, BUSY_TOO)
    again.load()
    again.check()
