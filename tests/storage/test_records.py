"""What commits say about updates, across compactions, added columns and rollbacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from freshtide.storage import (
    Change,
    Counts,
    ForeignCommitError,
    LoadedArrival,
    StoredTable,
    UpdateKind,
    UpdateRecord,
    compact,
)

from .tablebench import AT, by_polars, commit, held, opened, rows, update, values

FULL = UpdateRecord(
    number=1,
    kind=UpdateKind.REBUILD,
    freshness=-1,
    safe=1_777_000_000_123_456,
    definition="abc",
    counts=Counts(read=10, loaded=5, rejected=2, late=1),
    arrivals=(
        LoadedArrival(position="/in/ü \u2028.csv", digest="0" * 64, timestamp=1.25, rows=10),
        LoadedArrival(position="/in/mark", digest="1" * 64, timestamp=None, rows=None, punctuation=True),
    ),
    sources={"cpu": 7},
    revised_from=-(2**62),
)


def numbers(table: StoredTable) -> list[int]:
    return [record.number for _, record in table.records()]


def test_a_record_comes_back_as_it_was_committed(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    table.commit(Change(record=FULL, at=AT, schema=rows(1).schema, add=tuple(table.write(rows(1), number=1))))
    again = opened(tmp_path / "t")
    assert again.recover() is not None
    assert again.snapshot is not None
    assert again.snapshot.record == FULL
    assert [record for _, record in again.records()] == [FULL]
    assert FULL.counts.filtered == 2


def test_records_tell_the_updates_after_a_version_oldest_first(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    versions = [commit(table, number, rows(number)).version for number in range(1, 5)]
    assert [version for version, _ in table.records()] == versions
    assert [record.number for _, record in table.records(after=versions[1])] == [3, 4]
    assert list(table.records(after=versions[-1])) == []
    assert list(opened(tmp_path / "nothing").records()) == []


def test_compactions_and_added_columns_are_no_updates(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 17):
        commit(table, number, rows(number))
    compact(table, at=AT)
    commit(table, 17, rows(17, host=["x"]))
    table.checkpoint()
    assert numbers(table) == list(range(1, 18))
    again = opened(tmp_path / "t").snapshot
    assert again is not None
    assert (again.number, again.freshness) == (17, 17)


def test_a_rollback_undoes_the_last_update_for_good(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    commit(table, 2, rows(2, 3))
    table.roll_back(1, at=AT)
    assert values(tmp_path / "t") == [1]
    for snapshot in (table.snapshot, opened(tmp_path / "t").recover()):
        assert snapshot is not None
        assert (snapshot.number, snapshot.freshness, held(snapshot)) == (1, 1, [1])
    assert numbers(table) == [1]


def test_an_update_that_was_rolled_back_can_land_again(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    commit(table, 2, rows(2))
    table.roll_back(1, at=AT)
    again = opened(tmp_path / "t")
    commit(again, 2, rows(7))
    assert values(tmp_path / "t") == [1, 7]
    assert numbers(again) == [1, 2]
    assert again.snapshot is not None
    assert again.snapshot.number == 2
    with pytest.raises(ForeignCommitError):
        commit(again, 2, rows(8))
    assert values(tmp_path / "t") == [1, 7]


def test_a_table_that_is_not_ahead_is_not_rolled_back(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    table.roll_back(0, at=AT)
    assert table.snapshot is None
    before = commit(table, 3, rows(3))
    table.roll_back(3, at=AT)
    table.roll_back(9, at=AT)
    assert table.snapshot == before


def test_the_first_update_can_be_rolled_back(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 4, rows(1, 2))
    table.roll_back(3, at=AT)
    assert by_polars(tmp_path / "t").is_empty()
    again = opened(tmp_path / "t")
    assert again.snapshot is not None
    assert again.snapshot.record is None
    assert numbers(again) == []
    commit(again, 4, rows(5))
    assert values(tmp_path / "t") == [5]


@pytest.mark.parametrize("by", [(), ("value",)], ids=["same partitions", "other partitions"])
def test_rolling_back_a_whole_replacement_brings_the_old_rows_back(tmp_path: Path, by: tuple[str, ...]) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, 2))
    commit(table, 2, rows(9, other=["x"]), by=by, replace_all=True)
    table.roll_back(1, at=AT)
    assert values(tmp_path / "t") == [1, 2]
    assert by_polars(tmp_path / "t").columns == ["time", "value"]
    for snapshot in (table.snapshot, opened(tmp_path / "t").snapshot):
        assert snapshot is not None
        assert (snapshot.number, snapshot.rows, snapshot.partition_by) == (1, 2, ())
    commit(table, 2, rows(3))
    assert values(tmp_path / "t") == [1, 2, 3]


def test_rolling_back_an_update_without_rows_undoes_its_number(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    commit(table, 2, rows())
    table.roll_back(1, at=AT)
    assert commit(table, 2, rows(2)).number == 2
    assert values(tmp_path / "t") == [1, 2]


def test_rolling_back_beyond_a_compaction_keeps_what_was_there_before(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 18):
        commit(table, number, rows(number))
    assert compact(table, at=AT)
    table.roll_back(16, at=AT)
    assert values(tmp_path / "t") == list(range(1, 17))
    again = opened(tmp_path / "t").snapshot
    assert again is not None
    assert (again.number, again.rows) == (16, 16)


def test_rolling_back_twice_goes_back_twice(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 4):
        commit(table, number, rows(number))
    table.roll_back(2, at=AT)
    table.roll_back(1, at=AT)
    assert values(tmp_path / "t") == [1]
    commit(table, 2, rows(20))
    table.roll_back(0, at=AT)
    assert by_polars(tmp_path / "t").is_empty()
    assert numbers(opened(tmp_path / "t")) == []


def test_a_version_that_was_rolled_back_is_no_longer_at_hand(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1), freshness=10)
    commit(table, 2, rows(2), freshness=20)
    table.roll_back(1, at=AT)
    assert table.as_of(20) is None
    assert held(table.as_of(10)) == [1]


def test_revisions_are_told_from_the_number_that_a_dependent_has_seen(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number, revised_from in ((1, None), (2, 500), (3, 200), (4, None)):
        record = replace(update(number, freshness=number), revised_from=revised_from)
        files = tuple(table.write(rows(number), number=number))
        table.commit(Change(record=record, at=AT, schema=rows(number).schema, add=files))
    assert [table.revised_since(seen) for seen in range(5)] == [200, 200, 200, None, None]
    assert opened(tmp_path / "t").revised_since(2) == 200


def test_a_schema_is_kept_across_a_rollback_of_rows_alone(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    commit(table, 2, rows(2, host=["x"]))
    table.roll_back(1, at=AT)
    commit(table, 2, rows(2, host=["y"]))
    frame = by_polars(tmp_path / "t").sort("value")
    assert frame["host"].to_list() == [None, "y"]
    assert table.snapshot is not None
    assert table.snapshot.schema.field("host").type == pa.string()
