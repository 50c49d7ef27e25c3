"""The oracle of the campaign says nothing of what is right, and something of everything that is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from chaos.supply import Truth

from tests.chaos.flawless import Flawless, supplied
from tests.examples import slow_except

Spoil = Callable[[Flawless], None]


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    """Written once, for each test to spoil a copy."""
    folder = tmp_path_factory.mktemp("flawless")
    truth = supplied(folder / "landing")
    Flawless(folder, truth).write()
    return folder, truth


@pytest.fixture
def flawless(pattern: tuple[Path, Truth], tmp_path: Path) -> Flawless:
    folder, truth = pattern
    for name in ("tables", "out"):
        shutil.copytree(folder / name, tmp_path / name)
    return Flawless(tmp_path, Truth(rows=truth.rows, complete_upto={**truth.complete_upto}))


def test_nothing_is_told_of_what_is_right(flawless: Flawless) -> None:
    assert flawless.oracle.at_rest() == []


def _lose_a_row(made: Flawless) -> None:
    made.replace("slim_orders", made.read("slim_orders")[1:])


def _load_a_row_twice(made: Flawless) -> None:
    made.commit("orders", made.read("orders")[:1], made.truth.complete_upto["orders"])


def _bend_a_value(made: Flawless) -> None:
    rows = made.read("clicks")
    made.replace("clicks", rows.with_columns(v=pl.when(pl.col("id") == rows["id"][0]).then(10).otherwise("v")))


def _make_a_row_up(made: Flawless) -> None:
    made.commit("readings", made.read("readings")[:1].with_columns(id=1_000_000), made.truth.complete_upto["readings"])


def _lose_a_reject(made: Flawless) -> None:
    made.replace("orders__rejects", made.read("orders__rejects")[1:])


def _lose_a_late_row(made: Flawless) -> None:
    made.replace("orders__late", made.read("orders__late")[1:])


def _load_a_late_row_as_well(made: Flawless) -> None:
    made.commit("orders", made.read("orders__late")[:1], made.truth.complete_upto["orders"])


def _keep_an_older_row_of_a_key(made: Flawless) -> None:
    made.replace("quotes", made.read("quotes").with_columns(pl.col("ts") - timedelta(seconds=1), pl.col("id") - 1))


def _bend_a_view(made: Flawless) -> None:
    made.replace("order_keys", made.read("order_keys").with_columns(pl.col("n") + 1))


def _leave_a_view_behind(made: Flawless) -> None:
    complete = made.truth.complete_upto
    complete.update({feed: moment + timedelta(seconds=1) for feed, moment in complete.items()})


def _lose_what_a_flow_put_aside(made: Flawless) -> None:
    made.replace("unpriced", made.read("unpriced")[1:])


def _lose_a_file_of_a_flow(made: Flawless) -> None:
    (made.out / "0.parquet").unlink()


def _write_a_file_of_a_flow_twice(made: Flawless) -> None:
    shutil.copy(made.out / "0.parquet", made.out / "again.parquet")


_AT_REST: dict[Spoil, str] = {
    _lose_a_row: "slim_orders, rows in time: 1 missing",
    _load_a_row_twice: "orders, rows in time: 1 too many",
    _bend_a_value: "clicks, rows in time: 1 missing",
    _make_a_row_up: "readings holds rows that nobody supplied: 1000000",
    _lose_a_reject: "orders__rejects: 1 missing",
    _lose_a_late_row: "orders, tardy rows: 1 missing",
    _load_a_late_row_as_well: "orders, tardy rows: 1 too many",
    _keep_an_older_row_of_a_key: "quotes: 8 missing",
    _bend_a_view: "order_keys: 8 missing",
    _leave_a_view_behind: "even_quotes is as of",
    _lose_what_a_flow_put_aside: "unpriced: 1 missing",
    _lose_a_file_of_a_flow: "out/keys: ",
    _write_a_file_of_a_flow_twice: "out/keys: ",
}


@pytest.mark.parametrize("spoil", slow_except(_AT_REST, *list(_AT_REST)[:5]))
def test_what_is_spoilt_is_told_at_rest(flawless: Flawless, spoil: Spoil) -> None:
    spoil(flawless)
    assert any(sentence.startswith(_AT_REST[spoil]) for sentence in flawless.oracle.at_rest())


def _step_back(made: Flawless) -> None:
    earlier = made.truth.complete_upto["orders"] - timedelta(seconds=1)
    made.commit("order_minutes", made.read("order_minutes")[:0], earlier)


def _skip_a_number(made: Flawless) -> None:
    made.commit("clicks", made.read("clicks")[:0], made.truth.complete_upto["clicks"], number=9)


def _go_on_after_another_has_taken_over(made: Flawless) -> None:
    made.commit("clicks__late", made.read("clicks")[:0], made.truth.complete_upto["clicks"], epoch=2)
    made.commit("clicks__late", made.read("clicks")[:0], made.truth.complete_upto["clicks"], epoch=1)


def _lose_an_entry_of_a_log(made: Flawless) -> None:
    for _ in range(2):
        made.commit("clicks", made.read("clicks")[:0], made.truth.complete_upto["clicks"])
    made.entry("clicks", 2).unlink()


_AT_ANY_MOMENT: dict[Spoil, str] = {
    _load_a_row_twice: "orders, orders__late and orders__rejects: 1 rows more than once",
    _load_a_late_row_as_well: "orders, orders__late and orders__rejects: 1 rows more than once",
    _make_a_row_up: "readings holds rows that nobody supplied: 1000000",
    _step_back: "order_minutes, version 1: its freshness goes back",
    _skip_a_number: "clicks, version 2: update 9 follows on update 2",
    _go_on_after_another_has_taken_over: "clicks__late, version 1: whoever has the right 1 to write",
    _lose_an_entry_of_a_log: "clicks: its log goes on after version 1",
}


@pytest.mark.parametrize("spoil", _AT_ANY_MOMENT)
def test_what_is_spoilt_for_good_is_told_at_any_moment(flawless: Flawless, spoil: Spoil) -> None:
    spoil(flawless)
    assert any(sentence.startswith(_AT_ANY_MOMENT[spoil]) for sentence in flawless.oracle.while_running())
