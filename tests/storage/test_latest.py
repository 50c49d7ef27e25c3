"""One row per key: what a merge leaves in the table, as other readers see it."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.storage import GONE_AT, LARGEST_FILE, Change, LatestTable, Merge, compact, key_column, youngest
from tests.examples import examples

from .tablebench import AT, START, TIME, by_duckdb, by_polars, opened, update

KEY = ("symbol",)
Row = tuple[str | None, int, int]


def quotes(*given: Row) -> pa.Table:
    """Rows of (symbol, seconds after the start, price)."""
    symbols, seconds, prices = zip(*given, strict=True) if given else ((), (), ())
    return pa.table(
        {
            "symbol": pa.array(symbols, pa.string()),
            "time": pa.array([START + timedelta(seconds=second) for second in seconds], TIME),
            "price": pa.array(prices, pa.int64()),
        }
    )


def latest(folder: Path, key: tuple[str, ...] = KEY) -> LatestTable:
    return LatestTable(opened(folder), key=key, time_column="time", gone=opened(folder.with_name("gone")))


def put(table: LatestTable, number: int, rows: pa.Table, going: pa.Table | None = None) -> Merge:
    return commit(table, number, table.merge(rows, number=number, going=going))


def commit(table: LatestTable, number: int, merge: Merge) -> Merge:
    """Commit a merge, and the keys that have gone with it, if any, beside the table before."""
    if merge.gone is not None and merge.gone.num_rows and table.gone is not None:
        commit(table.gone, number, table.gone.merge(merge.gone, number=number))
    record, schema = update(number, freshness=number), merge.rows.schema
    table.stored.commit(Change(record=record, at=AT, schema=schema, add=merge.add, remove=merge.remove))
    return merge


def going(*given: tuple[str, int]) -> pa.Table:
    """Keys with the seconds after the start at which they go."""
    symbols, seconds = zip(*given, strict=True)
    times = [START + timedelta(seconds=second) for second in seconds]
    return pa.table({"symbol": pa.array(symbols, pa.string()), GONE_AT: pa.array(times, TIME)})


def stored(folder: Path) -> dict[str, int]:
    """Symbol to price, as two readers agree on it; a symbol with two rows fails."""
    rows = by_polars(folder)
    symbols = rows["symbol"].to_list()
    assert len(set(symbols)) == len(symbols)
    assert sorted(symbols) == sorted(by_duckdb(folder, "symbol"))
    return dict(zip(symbols, rows["price"].to_list(), strict=True))


def test_a_row_replaces_the_one_with_the_same_key(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    put(table, 1, quotes(("a", 1, 10), ("b", 1, 20)))
    merge = put(table, 2, quotes(("a", 2, 11), ("c", 2, 30)))
    assert stored(tmp_path / "t") == {"a": 11, "b": 20, "c": 30}
    assert (merge.rows.num_rows, merge.replaced, merge.passed_by) == (2, 1, 0)


def test_a_key_never_goes_back_in_time(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    put(table, 1, quotes(("a", 5, 50), ("b", 5, 50)))
    merge = put(table, 2, quotes(("a", 4, 40), ("b", 5, 51)))
    assert stored(tmp_path / "t") == {"a": 50, "b": 51}
    assert merge.passed_by == 1
    assert merge.rows.column("symbol").to_pylist() == ["b"]


def test_of_several_rows_of_a_key_the_youngest_comes_in_and_of_equal_ones_the_last(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    put(table, 1, quotes(("a", 3, 30), ("a", 1, 10), ("b", 2, 20), ("b", 2, 21)))
    assert stored(tmp_path / "t") == {"a": 30, "b": 21}


def test_keys_can_go_without_another_row_in_their_place_and_older_rows_do_not_bring_them_back(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    put(table, 1, quotes(("a", 1, 10), ("b", 1, 20), ("c", 3, 30)))
    merge = put(table, 2, quotes(("a", 2, 11)), going=going(("b", 2), ("c", 2), ("d", 5)))
    assert stored(tmp_path / "t") == {"a": 11, "c": 30}
    assert merge.left == 1
    again = latest(tmp_path / "t")
    merge = put(again, 3, quotes(("b", 1, 21), ("d", 4, 41)), going=going(("a", 1)))
    assert (merge.passed_by, stored(tmp_path / "t")) == (2, {"a": 11, "c": 30})
    put(again, 4, quotes(("b", 2, 22), ("d", 6, 43)))
    assert stored(tmp_path / "t") == {"a": 11, "b": 22, "c": 30, "d": 43}


def test_who_follows_the_table_finds_the_keys_that_have_gone(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    put(table, 1, quotes(("a", 1, 10), ("b", 1, 20), ("c", 1, 30)))
    put(table, 2, quotes(), going=going(("b", 2)))
    put(table, 3, quotes(("a", 2, 11)), going=going(("c", 2)))
    assert table.stored.snapshot is not None
    assert set(table.changed_since(table.stored.snapshot, 2).to_pylist()) == {"a", "c"}
    assert set(table.changed_since(table.stored.snapshot, 1).to_pylist()) == {"a", "b", "c"}


def test_the_rows_of_some_keys_are_replaced_by_older_ones_or_by_none(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    put(table, 1, quotes(("a", 5, 50), ("b", 5, 50), ("c", 5, 50)))
    merge = commit(table, 2, table.replace(quotes(("a", 1, 10)), of=pa.array(["a", "b", "nobody"]), number=2))
    assert stored(tmp_path / "t") == {"a": 10, "c": 50}
    assert (merge.replaced, merge.left) == (1, 1)


def test_a_key_can_have_several_columns_and_their_texts_do_not_run_together(tmp_path: Path) -> None:
    rows = pa.table({"a": ["x", "xy", None], "b": ["yz", "z", "z"], "time": pa.array([START] * 3, TIME)})
    table = latest(tmp_path / "t", ("a", "b"))
    put(table, 1, rows)
    put(table, 2, rows.slice(1, 1))
    assert by_polars(tmp_path / "t").height == 3


def test_another_process_finds_the_keys_in_the_files(tmp_path: Path) -> None:
    put(latest(tmp_path / "t"), 1, quotes(("a", 5, 50), ("b", 1, 10)))
    again = latest(tmp_path / "t")
    put(again, 2, quotes(("a", 4, 40), ("b", 2, 20)))
    assert stored(tmp_path / "t") == {"a": 50, "b": 20}


def test_columns_that_come_later_are_null_in_the_rows_that_stay(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    put(table, 1, quotes(("a", 1, 10), ("b", 1, 20)))
    put(table, 2, quotes(("a", 2, 11)).append_column("venue", pa.array(["X"])))
    put(table, 3, quotes(("c", 3, 30)).append_column("venue", pa.array(["Y"])))
    rows = {row["symbol"]: row["venue"] for row in by_polars(tmp_path / "t").to_dicts()}
    assert rows == {"a": "X", "b": None, "c": "Y"}


def test_the_files_stay_few_however_often_keys_change(tmp_path: Path) -> None:
    table = latest(tmp_path / "t")
    for number in range(1, 60):
        put(table, number, quotes((f"k{number % 7}", number, number), (f"once{number}", number, number)))
        compact(table.stored, at=AT, largest=LARGEST_FILE)
    assert table.stored.snapshot is not None
    assert len(table.stored.snapshot.files) < 20
    assert len(stored(tmp_path / "t")) == 7 + 59


@st.composite
def batches(draw: st.DrawFn) -> list[list[Row]]:
    row = st.tuples(st.sampled_from("abcdef"), st.integers(0, 9), st.integers(0, 99))
    return draw(st.lists(st.lists(row, max_size=6), min_size=1, max_size=6))


@settings(max_examples=examples(12))
@given(given_batches=batches(), seen=st.integers(0, 6))
def test_the_table_holds_what_a_dictionary_holds(given_batches: list[list[Row]], seen: int) -> None:
    folder = Path(tempfile.mkdtemp()) / "t"
    table, model, changed = latest(folder), dict[str, tuple[int, int]](), set[str]()
    try:
        for number, batch in enumerate(given_batches, start=1):
            put(table, number, quotes(*batch))
            for symbol, second, price in batch:
                assert symbol is not None
                if symbol not in model or model[symbol][0] <= second:
                    model[symbol] = (second, price)
                    changed |= {symbol} if number > seen else set()
            compact(table.stored, at=AT, largest=LARGEST_FILE)
        assert stored(folder) == {symbol: price for symbol, (_, price) in model.items()}
        snapshot = table.stored.snapshot
        assert snapshot is not None
        assert changed <= set(table.changed_since(snapshot, seen).to_pylist())
        assert sorted(table.changed_since(snapshot, 0).to_pylist()) == sorted(model)
        wanted = pa.array(["a", "b", "z"])
        found = table.rows_of(snapshot, wanted).column("symbol").to_pylist()
        assert sorted(found) == sorted(set(model) & {"a", "b"})
    finally:
        shutil.rmtree(folder.parent)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers()), max_size=8))
def test_the_youngest_of_each_key_is_the_last_of_the_largest_time(rows: list[tuple[str, int, int]]) -> None:
    prices = [(symbol, second, price % 1_000) for symbol, second, price in rows]
    kept = youngest(quotes(*prices), KEY, "time")
    expected: dict[str, tuple[int, int]] = {}
    for symbol, second, price in prices:
        if symbol not in expected or expected[symbol][0] <= second:
            expected[symbol] = (second, price)
    found = zip(key_column(kept, KEY).to_pylist(), kept.column("price").to_pylist(), strict=True)
    assert dict(found) == {symbol: price for symbol, (_, price) in expected.items()}
