"""What a power cut can leave behind, and that nothing of it is believed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from freshtide.storage import StorageError, Store, StoredTable, compact

from .tablebench import AT, commit, held, log_files, opened, rows, values


@pytest.fixture
def table(tmp_path: Path) -> StoredTable:
    """Two updates, the second one of several files."""
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, 2, kind=["a", "b"]), by=("kind",))
    commit(table, 2, rows(3, 4, 5, kind=["a", "b", "c"]), by=("kind",))
    return table


def test_however_the_last_commit_is_cut_off_it_counts_whole_or_not_at_all(table: StoredTable) -> None:
    last = log_files(table.folder)[-1]
    whole = last.read_bytes()
    line_ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    cuts = {0, 1, len(whole) // 2, len(whole) - 2, *line_ends, *(end + 1 for end in line_ends)}
    for cut in sorted(cuts):
        last.write_bytes(whole[:cut])
        snapshot = opened(table.folder).recover()
        complete = whole[:cut].strip() == whole.strip()
        assert held(snapshot) == ([1, 2, 3, 4, 5] if complete else [1, 2]), f"cut off after {cut} bytes"
        assert snapshot is not None
        assert snapshot.number == (2 if complete else 1)
        assert last.exists() == complete


def test_a_commit_whose_end_is_zeros_does_not_count(table: StoredTable) -> None:
    last = log_files(table.folder)[-1]
    whole = last.read_bytes()
    for kept in (0, len(whole) // 3, len(whole) - 5):
        last.write_bytes(whole[:kept] + bytes(len(whole) - kept))
        assert held(opened(table.folder).recover()) == [1, 2]


@pytest.mark.parametrize("left", [0, 40], ids=["empty", "torn"])
def test_a_torn_table_can_be_looked_at_before_it_is_mended(table: StoredTable, left: int) -> None:
    last = log_files(table.folder)[-1]
    last.write_bytes(last.read_bytes()[:left])
    torn = last.read_bytes()
    assert held(Store(table.folder.parent).table("t", time_column="time").snapshot) == [1, 2]
    assert last.read_bytes() == torn, "mending is for the process that runs the warehouse"


@pytest.mark.parametrize("left", ["nothing", "a line", "a half"])
def test_what_is_damaged_in_the_middle_of_a_log_is_not_passed_over(table: StoredTable, left: str) -> None:
    commit(table, 3, rows(6, 7, kind=["a", "b"]), by=("kind",))
    middle = log_files(table.folder)[1]
    whole = middle.read_bytes()
    kept = {"nothing": 0, "a line": whole.index(b"\n") + 1, "a half": len(whole) // 2}[left]
    middle.write_bytes(whole[:kept])
    with pytest.raises(StorageError, match=middle.name) as caught:
        opened(table.folder).recover()
    assert "backup" in (caught.value.way_out or "")
    with pytest.raises(StorageError, match=middle.name):
        _ = opened(table.folder).snapshot
    middle.write_bytes(whole)
    assert held(opened(table.folder).recover()) == [1, 2, 3, 4, 5, 6, 7]


def test_an_update_that_was_torn_can_be_done_again(table: StoredTable) -> None:
    last = log_files(table.folder)[-1]
    last.write_bytes(last.read_bytes()[:40])
    table.recover()
    commit(table, 2, rows(3, 4, 5, kind=["a", "b", "c"]), by=("kind",))
    assert values(table.folder) == [1, 2, 3, 4, 5]


def test_a_torn_first_commit_leaves_no_table(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    log_files(table.folder)[0].write_bytes(b"")
    assert opened(tmp_path / "t").snapshot is None
    assert opened(tmp_path / "t").recover() is None
    table.recover()
    commit(table, 1, rows(1))
    assert values(table.folder) == [1]


def test_however_a_compaction_is_cut_off_no_row_is_lost_or_doubled(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 17):
        commit(table, number, rows(number))
    assert compact(table, at=AT)
    last = log_files(table.folder)[-1]
    whole = last.read_bytes()
    line_ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (0, 10, *(end + 1 for end in line_ends)):
        last.write_bytes(whole[:cut])
        snapshot = opened(table.folder).recover()
        assert held(snapshot) == list(range(1, 17)), f"cut off after {cut} bytes"
        assert snapshot is not None
        assert snapshot.number == 16


def test_a_compaction_that_is_whole_is_kept(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    for number in range(1, 17):
        commit(table, number, rows(number))
    assert compact(table, at=AT)
    snapshot = opened(table.folder).recover()
    assert snapshot is not None
    assert len(snapshot.files) == 1
    assert held(snapshot) == list(range(1, 17))


def test_a_whole_log_is_left_as_it_is(table: StoredTable) -> None:
    commit(table, 3, rows(6, kind=["separator\u2028and\u0085more"]), by=("kind",))
    commit(table, 4, rows(7, kind=["a"], extra=["column"]), by=("kind",))
    table.roll_back(3, at=AT)
    before = {path.name: path.read_bytes() for path in log_files(table.folder)}
    assert held(opened(table.folder).recover()) == [1, 2, 3, 4, 5, 6]
    assert {path.name: path.read_bytes() for path in log_files(table.folder)} == before


def test_what_is_staged_when_the_power_goes_is_thrown_away(table: StoredTable) -> None:
    staging = table.staging(3)
    staging.mkdir(parents=True)
    (staging / "part-0.parquet").write_bytes(b"half a fi")
    assert held(opened(table.folder).recover()) == [1, 2, 3, 4, 5]
    assert not staging.exists()


def test_looking_on_throws_nothing_away(table: StoredTable) -> None:
    staging = table.staging(3)
    staging.mkdir(parents=True)
    opened(table.folder)
    assert staging.exists()


def test_data_files_that_no_commit_names_do_no_harm(table: StoredTable) -> None:
    (table.folder / "part-00000003-torn.parquet").write_bytes(b"PAR1 and nothing else")
    assert held(opened(table.folder).recover()) == [1, 2, 3, 4, 5]
    assert values(table.folder) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("how", ["missing", "empty", "half", "zeros", "foreign", "hole"])
def test_a_torn_checkpoint_is_rebuilt_from_the_log(table: StoredTable, how: str) -> None:
    table.checkpoint()
    commit(table, 3, rows(6, kind=["a"]), by=("kind",))
    (checkpoint,) = (table.folder / "_delta_log").glob("*.checkpoint.parquet")
    whole = checkpoint.read_bytes()
    torn = {
        "empty": b"",
        "half": whole[: len(whole) // 2],
        "zeros": bytes(len(whole)),
        "foreign": b"not a Parquet file",
        "hole": whole[:200] + bytes(200) + whole[400:],
    }
    if how == "missing":
        checkpoint.unlink()
    else:
        checkpoint.write_bytes(torn[how])
    assert held(opened(table.folder).recover()) == [1, 2, 3, 4, 5, 6]
    assert values(table.folder) == [1, 2, 3, 4, 5, 6], "other readers can open it again as well"


@pytest.mark.parametrize("content", [b"", b'{"ver', b'{"version":77,"size":12}'], ids=["empty", "torn", "dangling"])
def test_a_torn_pointer_to_the_checkpoint_is_no_obstacle(table: StoredTable, content: bytes) -> None:
    table.checkpoint()
    (table.folder / "_delta_log" / "_last_checkpoint").write_bytes(content)
    assert held(opened(table.folder).recover()) == [1, 2, 3, 4, 5]


def test_a_table_with_a_checkpoint_knows_its_last_update(table: StoredTable) -> None:
    table.checkpoint()
    again = opened(table.folder)
    assert again.snapshot is not None
    assert again.snapshot.number == 2
    commit(again, 3, rows(6, kind=["a"]), by=("kind",))
    assert values(table.folder) == [1, 2, 3, 4, 5, 6]


def test_a_log_that_cannot_be_mended_is_reported_with_the_way_out(table: StoredTable) -> None:
    log_files(table.folder)[0].unlink()
    with pytest.raises(StorageError) as caught:
        opened(table.folder)
    assert "'t'" in str(caught.value)
    assert caught.value.way_out is not None
    assert "move it away and start a run" in caught.value.way_out


def test_a_copy_of_a_table_is_a_table(table: StoredTable, tmp_path: Path) -> None:
    shutil.copytree(table.folder, tmp_path / "copy")
    assert held(opened(tmp_path / "copy").snapshot) == [1, 2, 3, 4, 5]


def test_schemas_may_differ_between_the_files_of_a_torn_and_a_repeated_update(table: StoredTable) -> None:
    commit(table, 3, rows(6, kind=["a"], extra=[1]), by=("kind",))
    last = log_files(table.folder)[-1]
    last.write_bytes(last.read_bytes()[:-20])
    table.recover()
    assert table.snapshot is not None
    assert "extra" not in table.snapshot.schema.names, "a column comes with its rows or not at all"
    commit(table, 3, rows(6, kind=["a"], extra=[1]), by=("kind",))
    assert values(table.folder, "extra") == [1, None, None, None, None, None]
