from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from freshtide.storage import Change, ForeignCommitError, StorageError, Store, StoredTable

from .tablebench import AT, TIME, by_polars, commit, held, opened, rows, update, values


def test_a_table_that_was_never_written_has_no_snapshot(tmp_path: Path) -> None:
    assert opened(tmp_path / "t").snapshot is None
    assert not (tmp_path / "t").exists(), "looking changes nothing"


def test_what_is_committed_is_read_by_others(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    snapshot = commit(table, 1, rows(1, 2, 3))
    assert values(tmp_path / "t") == [1, 2, 3]
    assert (snapshot.number, snapshot.rows, snapshot.version) == (1, 3, 0)
    commit(table, 2, rows(4))
    assert values(tmp_path / "t") == [1, 2, 3, 4]


def test_what_is_written_and_not_committed_is_invisible(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    table.write(rows(2), number=2)
    assert values(tmp_path / "t") == [1]
    assert opened(tmp_path / "t").snapshot == table.snapshot


def test_the_snapshot_after_a_commit_is_the_one_that_the_log_tells(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 6):
        commit(table, number, rows(number, number + 10))
    assert table.snapshot is not None
    again = opened(tmp_path / "t").snapshot
    assert again is not None
    assert {file.path for file in again.files} == {file.path for file in table.snapshot.files}
    assert (again.version, again.number, again.rows, again.size, again.schema, again.record) == (
        table.snapshot.version,
        table.snapshot.number,
        table.snapshot.rows,
        table.snapshot.size,
        table.snapshot.schema,
        table.snapshot.record,
    )


def test_a_commit_replaces_files_by_others_in_one_step(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, 2))
    commit(table, 2, rows(3))
    assert table.snapshot is not None
    old = tuple(file for file in table.snapshot.files if file.rows == 2)
    before = len(list((tmp_path / "t" / "_delta_log").glob("*.json")))
    commit(table, 3, rows(7, 8, 9), remove=old)
    assert values(tmp_path / "t") == [3, 7, 8, 9]
    assert held(table.snapshot) == [3, 7, 8, 9]
    assert len(list((tmp_path / "t" / "_delta_log").glob("*.json"))) == before + 1


def test_a_commit_without_rows_still_moves_the_table_on(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    snapshot = commit(table, 2, rows(), freshness=77)
    assert (snapshot.number, snapshot.freshness) == (2, 77)
    assert values(tmp_path / "t") == [1]


def test_a_table_may_begin_without_rows(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows())
    assert by_polars(tmp_path / "t").is_empty()
    commit(table, 2, rows(5))
    assert values(tmp_path / "t") == [5]


def test_a_pinned_snapshot_stays_readable_while_the_table_moves_on(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    pinned = commit(table, 1, rows(1, 2))
    commit(table, 2, rows(9), remove=pinned.files)
    assert held(pinned) == [1, 2]
    assert held(table.snapshot) == [9]


def prepared(table: StoredTable, number: int, content: pa.Table) -> Change:
    files = tuple(table.write(content, number=number))
    return Change(record=update(number), at=AT, schema=content.schema, add=files)


def test_the_same_change_lands_once(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    change = prepared(table, 2, rows(2))
    first = table.commit(change)
    assert table.commit(change) == first
    assert values(tmp_path / "t") == [1, 2]


def test_after_a_restart_a_change_that_had_landed_does_not_land_again(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    change = prepared(table, 1, rows(1))
    table.commit(change)
    commit(table, 2, rows(2))
    assert opened(tmp_path / "t").commit(change).number == 2
    assert values(tmp_path / "t") == [1, 2]


@pytest.mark.parametrize("number", [3, 5])
def test_another_change_of_a_number_that_has_landed_is_refused(tmp_path: Path, number: int) -> None:
    table = opened(tmp_path / "t")
    commit(table, 5, rows(5))
    with pytest.raises(ForeignCommitError, match=f"Update {number} of 't'"):
        commit(table, number, rows(number))
    assert values(tmp_path / "t") == [5]


def test_a_writer_with_a_stale_view_does_not_take_what_another_did_for_its_own(tmp_path: Path) -> None:
    first, second = opened(tmp_path / "t"), opened(tmp_path / "t")
    for number in (1, 2):
        commit(first, number, rows(number))
        with pytest.raises(ForeignCommitError, match=f"Update {number} of 't'"):
            commit(second, number, rows(number + 10))
    assert values(tmp_path / "t") == [1, 2]
    assert held(second.snapshot) == [1, 2], "it has learnt what the other did"


def test_a_writer_with_a_stale_view_cannot_land_anything_else_either(tmp_path: Path) -> None:
    first, second = opened(tmp_path / "t"), opened(tmp_path / "t")
    commit(first, 1, rows(1))
    second.open()
    commit(first, 2, rows(2))
    with pytest.raises(StorageError, match="Update 3 of 't'"):
        commit(second, 3, rows(3))
    assert values(tmp_path / "t") == [1, 2]
    assert second.snapshot is not None
    assert second.snapshot.number == 2, "it has learnt what the other did"
    commit(second, 3, rows(3))
    assert values(tmp_path / "t") == [1, 2, 3]


@pytest.mark.parametrize("by", [(), ("value",)], ids=["same partitions", "other partitions"])
def test_a_whole_replacement_by_a_stale_writer_is_refused_too(tmp_path: Path, by: tuple[str, ...]) -> None:
    first, second = opened(tmp_path / "t"), opened(tmp_path / "t")
    commit(first, 1, rows(1))
    second.open()
    commit(first, 2, rows(2))
    with pytest.raises(StorageError):
        commit(second, 3, rows(3), by=by, replace_all=True)
    assert values(tmp_path / "t") == [1, 2]


def test_replacing_all_leaves_only_the_new_rows(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, 2))
    commit(table, 2, rows(3))
    commit(table, 3, rows(7), replace_all=True)
    assert values(tmp_path / "t") == [7]
    assert held(table.snapshot) == [7]
    commit(table, 4, rows(8))
    assert values(tmp_path / "t") == [7, 8]


def test_replacing_all_may_bring_another_schema(tmp_path: Path) -> None:
    table = opened(tmp_path / "t", time_column=None)
    commit(table, 1, pa.table({"a": [1], "b": ["x"]}))
    commit(table, 2, pa.table({"b": [1.5], "c": [date(2026, 5, 1)]}), replace_all=True)
    frame = by_polars(tmp_path / "t")
    assert frame.to_dicts() == [{"b": 1.5, "c": date(2026, 5, 1)}]
    assert table.snapshot is not None
    assert table.snapshot.schema.names == ["b", "c"]
    assert opened(tmp_path / "t").snapshot is not None


@pytest.mark.parametrize(
    ("before", "after"), [((), ("kind",)), (("kind",), ()), (("kind",), ("other",))], ids=["to", "from", "between"]
)
def test_replacing_all_may_bring_other_partitions(
    tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, 2, kind=["a", "b"], other=["x", "y"]), by=before)
    commit(table, 2, rows(3, 4, kind=["a", "b"], other=["x", "y"]), by=after, replace_all=True)
    assert values(tmp_path / "t") == [3, 4]
    assert values(tmp_path / "t", "kind") == ["a", "b"]
    assert DeltaTable(tmp_path / "t").metadata().partition_columns == list(after)
    commit(table, 3, rows(5, kind=["c"], other=["z"]), by=after)
    assert values(tmp_path / "t", "other") == ["x", "y", "z"]
    again = opened(tmp_path / "t").snapshot
    assert again is not None
    assert (again.partition_by, again.number, again.rows) == (after, 3, 3)


def test_replacing_all_may_drop_the_column_it_was_partitioned_by(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, kind=["a"]), by=("kind",))
    commit(table, 2, rows(2), replace_all=True)
    assert values(tmp_path / "t") == [2]
    assert by_polars(tmp_path / "t").columns == ["time", "value"]


def test_replacing_all_by_nothing_empties_the_table(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    commit(table, 2, rows(), replace_all=True)
    assert by_polars(tmp_path / "t").is_empty()


def test_a_column_of_another_type_is_refused_with_both_types_and_the_way_out(tmp_path: Path) -> None:
    table = opened(tmp_path / "t", time_column=None)
    commit(table, 1, pa.table({"a": [1]}))
    with pytest.raises(StorageError) as caught:
        commit(table, 2, pa.table({"a": ["x"]}))
    assert "Column 'a' of 't' is int64 in the table and string now." in str(caught.value)
    assert "freshtide backfill t" in str(caught.value)
    assert by_polars(tmp_path / "t")["a"].to_list() == [1]


def test_a_table_whose_rows_have_all_gone_takes_a_column_of_another_type(tmp_path: Path) -> None:
    table = opened(tmp_path / "t", time_column=None)
    commit(table, 1, pa.table({"a": [1], "b": [True]}))
    commit(table, 2, pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.bool_())}), replace_all=True)
    commit(table, 3, pa.table({"a": ["x"]}))
    assert by_polars(tmp_path / "t").rows() == [("x", None)]
    again = opened(tmp_path / "t", time_column=None).snapshot
    assert again is not None
    assert table.snapshot is not None
    assert again.schema == table.snapshot.schema


def test_new_columns_are_added_and_null_in_older_rows(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    commit(table, 2, rows(2, host=["x"], load=[0.5]))
    commit(table, 3, rows(3))
    frame = by_polars(tmp_path / "t").sort("value")
    assert frame["host"].to_list() == [None, "x", None]
    assert frame["load"].to_list() == [None, 0.5, None]
    again = opened(tmp_path / "t").snapshot
    assert again is not None
    assert table.snapshot is not None
    assert again.schema == table.snapshot.schema
    assert again.number == 3


def test_whether_a_plan_calls_a_column_nullable_makes_no_other_schema(tmp_path: Path) -> None:
    table = opened(tmp_path / "t", time_column=None)
    strict = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    commit(table, 1, pa.table({"a": [1]}, schema=strict))
    commit(table, 2, pa.table({"a": pa.array([None], pa.int64())}))
    assert values(tmp_path / "t", "a") == [1, None]


def test_every_type_survives_a_restart_and_the_next_commit(tmp_path: Path) -> None:
    content = pa.table(
        {
            "b": [True, None],
            "i8": pa.array([1, -1], pa.int8()),
            "i64": pa.array([2**62, None], pa.int64()),
            "f32": pa.array([0.5, None], pa.float32()),
            "f64": [1e300, None],
            "dec": pa.array([Decimal("1.25"), None], pa.decimal128(20, 2)),
            "s": ["ü", None],
            "bin": [b"\x00\xff", None],
            "d": [date(1960, 2, 29), None],
            "ts": pa.array([None, 253_370_764_800_000_000], TIME),
            "list": pa.array([[1, None], []], pa.list_(pa.int64())),
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
            "struct": [{"x": 1, "y": {"z": "deep"}}, None],
        }
    )
    commit(opened(tmp_path / "t", time_column=None), 1, content)
    table = opened(tmp_path / "t", time_column=None)
    commit(table, 2, content)
    assert table.snapshot is not None
    assert table.snapshot.rows == 4
    frame = by_polars(tmp_path / "t")
    expected = content.to_pylist()
    for name in ("b", "i8", "i64", "f32", "f64", "dec", "s", "bin", "d", "list", "struct"):
        assert frame[name].to_list() == [row[name] for row in (*expected, *expected)], name


def test_a_table_with_deletion_vectors_is_refused(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    DeltaTable(tmp_path / "t").alter.set_table_properties(
        {"delta.enableDeletionVectors": "true"}, raise_if_not_exists=False
    )
    with pytest.raises(StorageError, match="enableDeletionVectors"):
        StoredTable(tmp_path / "t", time_column=None).open()


def test_a_version_of_a_certain_freshness_is_at_hand_for_a_while(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1), freshness=10)
    commit(table, 2, rows(2), freshness=20)
    assert held(table.as_of(10)) == [1]
    assert held(table.as_of(20)) == [1, 2]
    assert table.as_of(15) is None


def test_after_a_revision_earlier_versions_are_no_longer_at_hand(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1), freshness=10)
    files = tuple(table.write(rows(0), number=2))
    revised = replace(update(2, freshness=20), revised_from=0)
    table.commit(Change(record=revised, at=AT, schema=rows(0).schema, add=files))
    assert table.as_of(10) is None
    assert table.revised_since(1) == 0
    assert table.revised_since(2) is None


def test_what_spark_staged_becomes_part_of_the_table(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, kind=["a"]), by=("kind",))
    staging = table.staging(2)
    for folder, value in (("kind=a%2Fb", 2), ("kind=__HIVE_DEFAULT_PARTITION__", 3), ("kind=empty", None)):
        (staging / folder).mkdir(parents=True)
        content = rows() if value is None else rows(value)
        pq.write_table(content, staging / folder / "part-0.snappy.parquet")
    (staging / "_SUCCESS").touch()
    files = tuple(table.adopt(staging, number=2, partition_by=("kind",)))
    assert values(tmp_path / "t") == [1], "staged files are no part of the table yet"
    table.commit(Change(record=update(2), at=AT, schema=rows(1, kind=["a"]).schema, partition_by=("kind",), add=files))
    assert values(tmp_path / "t") == [1, 2, 3]
    assert values(tmp_path / "t", "kind") == ["a", "a/b", None]
    assert not staging.exists()


def test_a_store_opens_each_table_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    table = store.table("t", time_column="time")
    commit(table, 1, rows(1))
    assert store.table("t") is table
    again = Store(tmp_path).table("t", time_column="time").snapshot
    assert again is not None
    assert again.rows == 1
