"""A query that says the same in other words: its view, and those above it, stay as they are."""

from __future__ import annotations

import pytest

from freshtide.core.choosing import Way
from freshtide.storage import Snapshot
from tests.examples import slow_except
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


WIDER = {
    "gains": (PER_KEY.replace("AS total", "AS total, sum(v) / count(*) AS mean, upper(k) AS name"), BUSY),
    "renames": (PER_KEY.replace("AS n", "AS number"), BUSY),
    "loses": (PER_KEY.replace(", count(*) AS n", ""), "SELECT ts, v FROM a WHERE v > 1"),
    "other order and names": (
        PER_KEY.replace("k, count(*) AS n", "count(*) AS number, k"),
        BUSY.replace("k, v", "v, k"),
    ),
    "row by row": (PER_KEY, BUSY.replace("k, v", "k, v, v * 2 AS twice, date_trunc('hour', ts) AS hour")),
}


@pytest.mark.parametrize("what", slow_except(WIDER, "gains"))
def test_other_columns_of_the_same_rows_are_computed_from_these_rows(loaded: Shop, what: str) -> None:
    per_key, busy = WIDER[what]
    before = {name: record_of(loaded, name) for name in ("per_key", "busy")}
    again = declared(loaded.again(), per_key, busy)
    changed = {name for name, rows in again.warehouse.workbench.computer.former.items() if rows.columns}
    assert changed == {name for name, text in (("per_key", PER_KEY), ("busy", BUSY)) if text not in (per_key, busy)}
    again.drop_events("a", "more.csv", [(50, "x", 3), (51, "new", 2)])
    again.load()
    again.check()
    for name in changed:
        # The first update took over what was there, as fresh as it was; the next one brought what has come.
        taken_over = again.warehouse.workbench.store.table(name).landed(before[name].number + 1)
        assert taken_over is not None
        assert (taken_over.freshness, taken_over.sources) == (before[name].freshness, before[name].sources)
        assert record_of(again, name).number == before[name].number + 2


@pytest.mark.parametrize("way", slow_except([Way.FULL, Way.CHANGES], Way.CHANGES))
def test_a_view_goes_on_either_way_after_other_columns(shop: Shop, way: Way) -> None:
    declared(shop, PER_KEY, maintain="full" if way is Way.FULL else "incremental")
    for turn in range(3):
        drop(shop, turn)
    again = declared(shop.again(), WIDER["gains"][0], maintain="full" if way is Way.FULL else "incremental")
    again.load()
    again.check()
    for turn in (3, 4):
        drop(again, turn)
    assert way_of(again, "per_key") is way


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(PER_KEY.replace("AS total", "AS total, max(v) AS top"), marks=pytest.mark.slow),
        PER_KEY.replace(">= 0", "> 0"),
        pytest.param(PER_KEY.replace("GROUP BY k", "GROUP BY k HAVING count(*) > 1"), marks=pytest.mark.slow),
        PER_KEY.replace("k, count(*) AS n", "substr(k, 1, 1) AS k, count(*) AS n").replace(
            "BY k", "BY substr(k, 1, 1)"
        ),
    ],
    ids=["another figure", "another condition", "fewer groups", "other groups"],
)
def test_what_gives_other_rows_or_columns_is_computed_anew(loaded: Shop, other: str) -> None:
    before = files_of(loaded)
    again = declared(loaded.again(), other)
    assert not again.warehouse.workbench.computer.former
    again.load()
    again.check()
    assert files_of(again)["per_key"].isdisjoint(before["per_key"])
    assert files_of(again)["busy"] == before["busy"]


@pytest.mark.slow
def test_the_catalog_that_knows_the_former_words_can_be_lost(loaded: Shop) -> None:
    loaded.warehouse.close()
    loaded.lose_catalog()
    again = declared(loaded.again(), IN_OTHER_WORDS, BUSY_TOO)
    again.load()
    again.check()
