"""Statistics must never make a reader skip a row: other readers filter, with and without them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.instants import micros_of
from tests.examples import examples

from .tablebench import START, TIME, added_statistics, commit, held, micros_after, opened, rows


def one_column(folder: Path, *files: pa.Array) -> None:
    """A table with one file per array."""
    table = opened(folder, time_column=None)
    for number, content in enumerate(files, start=1):
        commit(table, number, pa.table({"x": content}))


def kept(folder: Path, condition: pl.Expr) -> list[Any]:
    found: list[Any] = pl.scan_delta(str(folder)).filter(condition).collect()["x"].to_list()
    return found


def test_bounds_let_a_reader_skip_files(tmp_path: Path) -> None:
    one_column(tmp_path / "t", pa.array([1, 5]), pa.array([10, 50, None]))
    assert added_statistics(tmp_path / "t") == [
        {"numRecords": 3, "minValues": {"x": 10}, "maxValues": {"x": 50}, "nullCount": {"x": 1}}
    ]
    handle = DeltaTable(tmp_path / "t")
    selected = handle.to_pyarrow_dataset().get_fragments(filter=ds.field("x") > 7)
    assert len(list(selected)) == 1


def test_the_bounds_of_a_timestamp_are_rounded_outwards(tmp_path: Path) -> None:
    low, high = START + timedelta(microseconds=1_999), START + timedelta(seconds=1, microseconds=1)
    one_column(tmp_path / "t", pa.array([low, high], TIME))
    (stats,) = added_statistics(tmp_path / "t")
    written = [datetime.fromisoformat(stats[side]["x"]) for side in ("minValues", "maxValues")]
    assert written == [START + timedelta(milliseconds=1), START + timedelta(seconds=1, milliseconds=1)]
    assert kept(tmp_path / "t", pl.col("x") >= high) == [high]
    assert kept(tmp_path / "t", pl.col("x") <= low) == [low]


def test_a_timestamp_before_the_epoch_has_bounds_too(tmp_path: Path) -> None:
    moment = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    one_column(tmp_path / "t", pa.array([moment], TIME))
    assert kept(tmp_path / "t", pl.col("x") == moment) == [moment]
    (stats,) = added_statistics(tmp_path / "t")
    assert datetime.fromisoformat(stats["minValues"]["x"]) <= moment <= datetime.fromisoformat(stats["maxValues"]["x"])


def test_the_last_moment_there_is_can_be_stored(tmp_path: Path) -> None:
    for_ever = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    table = opened(tmp_path / "t")
    commit(table, 1, pa.table({"time": pa.array([START, for_ever], TIME), "value": [1, 2]}))
    again = opened(tmp_path / "t").snapshot
    assert again is not None
    assert held(again) == [1, 2]
    assert len(again.between(micros_of(for_ever), None)) == 1
    found = pl.scan_delta(str(tmp_path / "t")).filter(pl.col("time") == for_ever).collect()
    assert found["value"].to_list() == [2]


def test_long_texts_are_cut_off_without_losing_them(tmp_path: Path) -> None:
    texts = ["a" * 100, "z" * 40 + "tail", "ü" * 33, "\U0010ffff" * 40, "", "z" * 32]
    one_column(tmp_path / "t", *(pa.array([text]) for text in texts))
    for text in texts:
        assert kept(tmp_path / "t", pl.col("x") == text) == [text]
        assert sorted(kept(tmp_path / "t", pl.col("x") >= text)) == sorted(t for t in texts if t >= text)
        assert sorted(kept(tmp_path / "t", pl.col("x") <= text)) == sorted(t for t in texts if t <= text)


def test_numbers_that_are_none_have_no_say_in_the_bounds_and_are_not_lost(tmp_path: Path) -> None:
    files = [[1.0, math.nan], [math.nan, math.nan], [math.inf, 2.0], [-math.inf], [None, None], [0.0, -0.0]]
    one_column(tmp_path / "t", *(pa.array(file, pa.float64()) for file in files))
    assert kept(tmp_path / "t", pl.col("x") > 1.5) == pytest.approx(
        [value for value in _column(tmp_path / "t") if value is not None and (value > 1.5 or math.isnan(value))],
        nan_ok=True,
    )
    assert kept(tmp_path / "t", pl.col("x") == -math.inf) == [-math.inf]
    assert len(kept(tmp_path / "t", pl.col("x") == 0.0)) == 2
    assert len(kept(tmp_path / "t", pl.col("x").is_null())) == 2


def test_no_upper_bound_is_claimed_where_a_nan_may_lie_above_it(tmp_path: Path) -> None:
    """Spark takes NaN for larger than any number, and a Parquet footer does not tell that there is one."""
    one_column(tmp_path / "t", pa.array([1.0, math.nan]))
    (stats,) = added_statistics(tmp_path / "t")
    assert "x" not in stats["maxValues"]
    assert stats["minValues"] == {"x": 1.0}


def test_nulls_are_counted_and_a_column_of_nulls_has_no_bounds(tmp_path: Path) -> None:
    one_column(tmp_path / "t", pa.array([None, None], pa.int64()))
    (stats,) = added_statistics(tmp_path / "t")
    assert (stats["nullCount"], stats["minValues"], stats["maxValues"]) == ({"x": 2}, {}, {})
    assert kept(tmp_path / "t", pl.col("x").is_null()) == [None, None]


def test_columns_inside_of_others_are_left_out(tmp_path: Path) -> None:
    table = opened(tmp_path / "t", time_column=None)
    commit(table, 1, pa.table({"s": [{"x": 1}], "l": [[1, 2]], "x": [7]}))
    (stats,) = added_statistics(tmp_path / "t")
    assert stats["minValues"] == {"x": 7}


VALUES: list[tuple[str, pa.DataType, st.SearchStrategy[Any]]] = [
    ("integer", pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    ("small integer", pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    ("text", pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=40)),
    ("number", pa.float64(), st.floats(allow_nan=False)),
    ("day", pa.date32(), st.dates()),
    ("moment", TIME, st.datetimes(datetime(1, 1, 2), timezones=st.just(UTC))),
]


@pytest.mark.parametrize(("kind", "values"), [(kind, values) for _, kind, values in VALUES], ids=[v[0] for v in VALUES])
def test_the_bounds_in_the_log_hold_for_every_value(
    tmp_path_factory: pytest.TempPathFactory, kind: pa.DataType, values: st.SearchStrategy[Any]
) -> None:
    folder = tmp_path_factory.mktemp("bounds")
    table = opened(folder / "t", time_column=None)
    numbers = iter(range(1, 10_000))

    @settings(max_examples=examples(40))
    @given(st.lists(st.one_of(st.none(), values), min_size=1, max_size=5))
    def check(content: list[Any]) -> None:
        commit(table, next(numbers), pa.table({"x": pa.array(content, kind)}))
        (stats,) = added_statistics(folder / "t")
        present = [value for value in content if value is not None]
        assert stats["numRecords"] == len(content)
        assert stats["nullCount"]["x"] == len(content) - len(present)
        read = _reader_of(kind)
        if "x" in stats["minValues"]:
            assert all(read(stats["minValues"]["x"]) <= value for value in present)
        if "x" in stats["maxValues"]:
            assert all(read(stats["maxValues"]["x"]) >= value for value in present)

    check()
    again = opened(folder / "t", time_column=None).snapshot
    assert table.snapshot is not None
    assert again is not None
    assert again.rows == table.snapshot.rows, "other readers understand the statistics"


def _reader_of(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_date(kind):
        return date.fromisoformat
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat
    return lambda value: value


def _column(folder: Path) -> list[float | None]:
    found: list[float | None] = pl.read_delta(str(folder))["x"].to_list()
    return found


STAMPS = st.lists(
    st.lists(st.one_of(st.none(), st.integers(-5_000, 5_000)), min_size=1, max_size=4), min_size=1, max_size=4
)
EDGES = st.one_of(st.none(), st.integers(-5_500, 5_500))


@settings(max_examples=examples(25))
@given(files=STAMPS, edges=st.lists(st.tuples(EDGES, EDGES), min_size=10, max_size=40))
def test_pruning_by_time_never_loses_a_row(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int | None]], edges: list[tuple[int | None, int | None]]
) -> None:
    """Stamps lie microseconds apart, so that milliseconds in the log would matter."""
    folder = tmp_path_factory.mktemp("pruned")
    table = opened(folder / "t")
    epoch = micros_of(START)
    for number, stamps in enumerate(files, start=1):
        written = pa.array([None if stamp is None else epoch + stamp for stamp in stamps], TIME)
        commit(table, number, pa.table({"time": written, "value": [number] * len(stamps)}))
    for snapshot in (table.snapshot, opened(folder / "t").snapshot):
        assert snapshot is not None
        content = {file.path: _stamps_in(folder / "t" / file.path) for file in snapshot.files}
        # The tightest stretches around each row, and some at random.
        tight = [(stamp - epoch, stamp - epoch + 1) for stamps in content.values() for stamp in stamps]
        for first, last in [*tight, *edges]:
            since = None if first is None else epoch + first
            before = None if last is None else epoch + last
            chosen = {file.path for file in snapshot.between(since, before)}
            for path, moments in content.items():
                inside = [m for m in moments if (since is None or m >= since) and (before is None or m < before)]
                assert path in chosen or not inside


def _stamps_in(path: Path) -> list[int]:
    return [stamp for stamp in pl.read_parquet(path)["time"].to_physical() if stamp is not None]


def test_pruning_by_time_leaves_out_files_that_hold_nothing_of_the_stretch(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(10):
        commit(table, number + 1, rows(number * 10, number * 10 + 9))
    for snapshot in (table.snapshot, opened(tmp_path / "t").snapshot):
        assert snapshot is not None
        chosen = snapshot.between(micros_after(30), micros_after(50))
        assert sorted(file.low or 0 for file in chosen) == [micros_after(30), micros_after(40)]
        assert len(snapshot.between(None, None)) == 10
        assert snapshot.between(micros_after(100), None) == ()


def test_a_table_partitioned_by_its_time_column_is_pruned_by_day(tmp_path: Path) -> None:
    table = opened(tmp_path / "t", time_column="day")
    days = [date(2026, 5, day) for day in range(1, 8)]
    commit(table, 1, pa.table({"day": days, "value": list(range(7))}), by=("day",))
    for snapshot in (table.snapshot, opened(tmp_path / "t", time_column="day").snapshot):
        assert snapshot is not None
        third, fifth = (micros_of(datetime(2026, 5, day, tzinfo=UTC)) for day in (3, 5))
        chosen = snapshot.between(third, fifth)
        assert sorted(file.partition_values["day"] or "" for file in chosen) == ["2026-05-03", "2026-05-04"]
