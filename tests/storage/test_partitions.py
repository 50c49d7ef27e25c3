from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from freshtide.storage import compact

from .tablebench import AT, TIME, by_polars, commit, held, opened, rows, values

TEXTS = [
    None,
    "plain",
    "with space",
    " ",
    "a/b",
    "../up",
    ".",
    "..",
    "50%",
    "a%2Fb",
    "%25",
    "x=y",
    "ünï✓𝄞",
    "it's",
    '"quoted"',
    "#?&+;:",
    "back\\slash",
    "line\nbreak",
    "tab\t",
    "next\u0085line",
    "separator\u2028here",
    "null",
]


def test_any_text_may_be_a_partition_value(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    content = rows(*range(len(TEXTS)), kind=TEXTS)
    commit(table, 1, content, by=("kind",))
    commit(table, 2, content, by=("kind",))
    for frame in (by_polars(tmp_path / "t"), _by_files(tmp_path / "t")):
        found = frame.sort("value")["kind"].to_list()
        assert found == [text for text in TEXTS for _ in range(2)]


def test_a_table_with_odd_partition_values_is_recovered_compacted_and_rolled_back_like_any(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    content = rows(*range(len(TEXTS)), kind=TEXTS)
    for number in range(1, 17):
        commit(table, number, content, by=("kind",))
    assert table.recover() is not None
    while compact(table, at=AT):
        pass
    commit(table, 17, content, by=("kind",))
    table.roll_back(16, at=AT)
    again = opened(tmp_path / "t").recover()
    assert held(again) == held(table.snapshot) == sorted([*range(len(TEXTS))] * 16)
    assert by_polars(tmp_path / "t").sort("value")["kind"].to_list() == [text for text in TEXTS for _ in range(16)]


def test_no_partition_reaches_out_of_the_tables_folder(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(*range(len(TEXTS)), kind=TEXTS), by=("kind",))
    assert table.snapshot is not None
    for path in table.snapshot.paths(table.snapshot.files):
        assert Path(path).resolve().is_relative_to((tmp_path / "t").resolve())
        assert Path(path).exists()


@pytest.mark.parametrize(
    "content",
    [
        pa.array([date(2026, 5, 1), date(1969, 12, 31), None]),
        pa.array([1, -7, None], pa.int64()),
        pa.array([True, False, None]),
        pa.array([Decimal("1.50"), Decimal("-2.25"), None], pa.decimal128(10, 2)),
        pa.array([datetime(2026, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC), None], TIME),
    ],
    ids=["date", "integer", "boolean", "decimal", "timestamp"],
)
def test_partition_values_keep_their_type(tmp_path: Path, content: pa.Array) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(0, 1, 2, part=content), by=("part",))
    assert by_polars(tmp_path / "t").sort("value")["part"].to_list() == content.to_pylist()
    again = opened(tmp_path / "t").snapshot
    assert table.snapshot is not None
    assert again is not None
    assert {file.path: file.partition_values for file in again.files} == {
        file.path: file.partition_values for file in table.snapshot.files
    }


def test_rows_whose_partition_is_not_a_number_are_kept(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(0, 1, 2, 3, part=[1.5, math.nan, None, math.nan]), by=("part",))
    found = by_polars(tmp_path / "t").sort("value")["part"].to_list()
    assert found[0] == 1.5
    assert found[2] is None
    assert math.isnan(found[1])
    assert math.isnan(found[3])


def test_several_columns_may_partition_a_table(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    days = [date(2026, 5, 1), date(2026, 5, 2), None, date(2026, 5, 1)]
    kinds = ["a", None, "a", "a"]
    commit(table, 1, rows(0, 1, 2, 3, day=days, kind=kinds), by=("day", "kind"))
    frame = by_polars(tmp_path / "t").sort("value")
    assert (frame["day"].to_list(), frame["kind"].to_list()) == (days, kinds)
    assert table.snapshot is not None
    assert len(table.snapshot.files) == 3, "one file per partition"
    selected = pl.scan_delta(str(tmp_path / "t")).filter(pl.col("day") == date(2026, 5, 1)).collect()
    assert sorted(selected["value"].to_list()) == [0, 3]


def test_a_column_may_be_called_like_the_inside_of_a_writer(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(0, 1, place=["x", "y"], key0=["p", "q"]), by=("place", "key0"))
    assert values(tmp_path / "t", "place") == ["x", "y"]
    assert values(tmp_path / "t", "key0") == ["p", "q"]


def _by_files(folder: Path) -> pl.DataFrame:
    """The table put together from the files and partition values that a fresh look at the log lists."""
    snapshot = opened(folder).snapshot
    assert snapshot is not None
    parts: list[dict[str, Any]] = []
    for file in snapshot.files:
        for value in pl.read_parquet(folder / file.path, glob=False, hive_partitioning=False)["value"]:
            parts.append({"value": value, **file.partition_values})
    return pl.DataFrame(parts)
