from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.storage import Change, ForeignCommitError, StoredTable, compact
from tests.examples import examples

from .tablebench import AT, by_polars, commit, held, micros_after, opened, rows, update, values


def filled(folder: Path, updates: int) -> StoredTable:
    table = opened(folder)
    for number in range(1, updates + 1):
        commit(table, number, rows(number, number + 100))
    return table


def expected(updates: int) -> list[int]:
    return sorted([*range(1, updates + 1), *range(101, updates + 101)])


def test_compaction_makes_fewer_files_of_the_same_rows(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 20)
    before = table.snapshot
    assert before is not None
    assert compact(table, at=AT)
    assert table.snapshot is not None
    assert len(table.snapshot.files) < len(before.files)
    assert values(tmp_path / "t") == held(table.snapshot) == expected(20)
    assert table.snapshot.rows == 40


def test_compaction_changes_neither_the_number_nor_the_freshness(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 20)
    compact(table, at=AT)
    for snapshot in (table.snapshot, opened(tmp_path / "t").snapshot):
        assert snapshot is not None
        assert snapshot.record == update(20, freshness=20)
    commit(table, 21, rows(21))
    with pytest.raises(ForeignCommitError):
        commit(table, 20, rows(99))
    assert values(tmp_path / "t") == sorted([*expected(20), 21])


def test_few_files_are_left_alone(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 5)
    assert not compact(table, at=AT)
    assert held(table.snapshot) == expected(5)
    assert not compact(opened(tmp_path / "nothing"), at=AT)


def test_rows_of_open_buckets_stay_in_files_of_their_own(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 0)
    for number in range(1, 41):
        commit(table, number, rows(number))
    assert table.snapshot is not None
    open_files = {file.path for file in table.snapshot.files if file.high is not None and file.high >= micros_after(30)}
    while compact(table, at=AT, closed_before=micros_after(30)):
        pass
    assert open_files == {f.path for f in table.snapshot.files if f.high is not None and f.high >= micros_after(30)}
    assert len(open_files) == 11
    assert len(table.snapshot.files) < 40
    assert values(tmp_path / "t") == list(range(1, 41))


def test_nothing_is_compacted_while_all_of_it_is_open(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 20)
    assert not compact(table, at=AT, closed_before=micros_after(0))


def test_partitions_are_compacted_each_for_itself(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 21):
        commit(table, number, rows(number, number + 100, kind=["a", None]), by=("kind",))
    while compact(table, at=AT):
        pass
    assert table.snapshot is not None
    assert len(table.snapshot.files) < 40
    frame = by_polars(tmp_path / "t").sort("value")
    assert frame["value"].to_list() == expected(20)
    assert frame["kind"].to_list() == ["a"] * 20 + [None] * 20


def test_columns_that_were_added_later_are_null_in_compacted_older_rows(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 9):
        commit(table, number, rows(number))
    for number in range(9, 17):
        commit(table, number, rows(number, host=[f"h{number}"], tags=pa.array([["x"]], pa.list_(pa.string()))))
    assert compact(table, at=AT)
    frame = by_polars(tmp_path / "t").sort("value")
    assert frame["value"].to_list() == list(range(1, 17))
    assert frame["host"].to_list() == [None] * 8 + [f"h{number}" for number in range(9, 17)]
    assert frame["tags"].to_list() == [None] * 8 + [["x"]] * 8


def test_compaction_is_no_change_of_data_to_those_who_follow_the_log(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 16)
    compact(table, at=AT)
    last = max((tmp_path / "t" / "_delta_log").glob("*.json")).read_text(encoding="utf-8")
    assert '"dataChange":false' in last
    assert '"dataChange":true' not in last


def test_compacted_files_are_pruned_by_time_like_others(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 33):
        commit(table, number, rows(number))
    while compact(table, at=AT):
        pass
    for snapshot in (table.snapshot, opened(tmp_path / "t").snapshot):
        assert snapshot is not None
        for second in (1, 16, 17, 32):
            chosen = snapshot.between(micros_after(second), micros_after(second) + 1)
            assert len(chosen) == 1
        assert snapshot.between(micros_after(33), None) == ()


@pytest.mark.slow
def test_after_three_hundred_updates_the_files_are_still_few(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    most = 0
    for number in range(1, 301):
        commit(table, number, rows(number))
        compact(table, at=AT)
        assert table.snapshot is not None
        most = max(most, len(table.snapshot.files))
    assert most < 40
    assert values(tmp_path / "t") == list(range(1, 301))
    assert opened(tmp_path / "t").snapshot is not None


@settings(max_examples=examples(5))
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 50), min_size=1, max_size=3), st.booleans(), st.booleans()),
        min_size=16,
        max_size=40,
    ),
    st.booleans(),
)
def test_compaction_keeps_the_bag_of_rows(
    tmp_path_factory: pytest.TempPathFactory, updates: list[tuple[list[int], bool, bool]], partitioned: bool
) -> None:
    """Updates that append or replace the last one's files, with compaction whenever there is something to do."""
    folder = tmp_path_factory.mktemp("bag") / "t"
    table = opened(folder)
    by = ("kind",) if partitioned else ()
    bag: Counter[int] = Counter()
    for number, (stamps, replaces, compacts) in enumerate(updates, start=1):
        content = rows(*stamps, kind=[f"k{stamp % 2}" for stamp in stamps])
        victims = table.snapshot.files[-1:] if replaces and table.snapshot else ()
        for path in [folder / file.path for file in victims]:
            bag -= Counter(_values_in(path))
        files = tuple(table.write(content, number=number, partition_by=by))
        table.commit(
            Change(record=update(number), at=AT, schema=content.schema, partition_by=by, add=files, remove=victims)
        )
        bag += Counter(stamps)
        if compacts:
            compact(table, at=AT)
    assert Counter(held(table.snapshot)) == bag
    assert Counter(values(folder)) == bag


def _values_in(path: Path) -> list[int]:
    found: list[int] = pq.ParquetFile(path).read(["value"])["value"].to_pylist()
    return found


def test_vacuum_deletes_what_is_no_longer_needed_and_nothing_else(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 20)
    compact(table, at=AT)
    before = _data_files(tmp_path / "t")
    table.vacuum(3_600.0, at=time.time())
    after = _data_files(tmp_path / "t")
    assert after < before, "the files that compaction replaced are gone"
    assert values(tmp_path / "t") == held(table.snapshot) == expected(20)
    commit(table, 21, rows(21))
    assert values(tmp_path / "t") == sorted([*expected(20), 21])
    assert held(opened(tmp_path / "t").snapshot) == held(table.snapshot)


def test_vacuum_keeps_what_was_removed_within_the_retention(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    pinned = table.snapshot
    assert pinned is not None
    just_now = max(path.stat().st_mtime for path in (tmp_path / "t").glob("*.parquet"))
    files = tuple(table.write(rows(2), number=2))
    table.commit(Change(record=update(2), at=just_now, schema=rows(2).schema, add=files, remove=pinned.files))
    table.vacuum(86_400.0, at=time.time())
    assert held(pinned) == [1]


def test_vacuum_leaves_alone_what_is_about_to_be_committed(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 3)
    written = table.write(rows(50), number=4)
    staging = table.staging(4)
    staging.mkdir(parents=True)
    table.vacuum(3_600.0, at=time.time())
    assert (tmp_path / "t" / written[0].path).exists()
    assert staging.exists()


def test_a_version_whose_files_were_deleted_is_no_longer_at_hand(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    first = commit(table, 1, rows(1), freshness=10)
    commit(table, 2, rows(2), freshness=20, remove=first.files)
    assert held(table.as_of(10)) == [1]
    table.vacuum(3_600.0, at=time.time())
    assert table.as_of(10) is None
    assert held(table.as_of(20)) == [2]


def test_other_readers_open_a_vacuumed_table(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 16)
    compact(table, at=AT)
    table.checkpoint()
    table.vacuum(3_600.0, at=time.time())
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().num_rows == 32


def _data_files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts}
