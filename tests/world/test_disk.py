"""What every disk does, the real one and the simulated one."""

from __future__ import annotations

import errno
import hashlib
import io
import stat
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults.disk import SimulatedDisk

from freshtide.world import (
    Disk,
    OsDisk,
    files_below,
    is_folder,
    make_folder,
    names_in,
    sha256_of,
    sync_files,
    sync_tree,
)


@pytest.fixture(params=[OsDisk, SimulatedDisk])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    made: Disk = request.param()
    made.make_folders(tmp_path)
    return made


def test_a_file_holds_what_was_written_last(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "a"
    disk.write(path, b"one and more")
    disk.write(path, b"two")
    assert disk.read(path) == b"two"
    assert disk.look(path).st_size == 3
    assert disk.exists(path)
    assert not disk.exists(tmp_path / "b")
    assert not disk.exists(path / "below a file")


def test_what_is_written_may_be_any_buffer(disk: Disk, tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2, 3], "text": ["a", "b", "c"]})
    content = pa.BufferOutputStream()
    pq.write_table(rows, content)
    disk.write(tmp_path / "a.parquet", content.getvalue())
    with disk.open(tmp_path / "a.parquet") as file:
        assert pq.read_metadata(file).num_rows == 3
    with disk.open(tmp_path / "a.parquet") as file:
        assert pq.ParquetFile(file).read(columns=["n"]).to_pydict() == {"n": [1, 2, 3]}


def test_a_name_can_be_created_once(disk: Disk, tmp_path: Path) -> None:
    disk.create(tmp_path / "a", b"mine")
    with pytest.raises(FileExistsError):
        disk.create(tmp_path / "a", b"theirs")
    assert disk.read(tmp_path / "a") == b"mine"


def test_a_link_is_another_name_and_takes_no_place(disk: Disk, tmp_path: Path) -> None:
    disk.write(tmp_path / "hidden", b"entry")
    disk.write(tmp_path / "taken", b"other")
    disk.link(tmp_path / "hidden", tmp_path / "entry")
    with pytest.raises(FileExistsError):
        disk.link(tmp_path / "hidden", tmp_path / "taken")
    disk.remove(tmp_path / "hidden")
    assert disk.read(tmp_path / "entry") == b"entry"
    assert disk.read(tmp_path / "taken") == b"other"


def test_a_rename_takes_the_place_of_a_file(disk: Disk, tmp_path: Path) -> None:
    disk.write(tmp_path / "new", b"new")
    disk.write(tmp_path / "old", b"old")
    disk.rename(tmp_path / "new", tmp_path / "old")
    assert disk.read(tmp_path / "old") == b"new"
    assert sorted(disk.names(tmp_path)) == ["old"]


def test_a_folder_is_renamed_with_all_that_is_in_it(disk: Disk, tmp_path: Path) -> None:
    make_folder(disk, tmp_path / "a" / "b")
    disk.write(tmp_path / "a" / "b" / "file", b"1")
    disk.rename(tmp_path / "a", tmp_path / "c")
    assert disk.read(tmp_path / "c" / "b" / "file") == b"1"
    disk.make_folders(tmp_path / "full")
    disk.write(tmp_path / "full" / "file", b"2")
    with pytest.raises(OSError, match="not empty") as refused:
        disk.rename(tmp_path / "c", tmp_path / "full")
    assert refused.value.errno == errno.ENOTEMPTY
    disk.make_folders(tmp_path / "empty")
    disk.rename(tmp_path / "c", tmp_path / "empty")
    assert disk.names(tmp_path / "empty") == ["b"]


def test_what_is_appended_comes_after_what_is_there(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with disk.open_end(path) as file:
        assert file.write(b"one\n") == 4
        assert file.tell() == 4
        assert disk.read(path) == b"one\n", "it is not buffered"
    with disk.open_end(path) as file:
        file.write(b"two\n")
        assert file.tell() == 8
    assert disk.read(path) == b"one\ntwo\n"


def test_an_open_file_is_that_file_whatever_its_name_leads_to(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with disk.open_end(path) as appended, disk.open(path) as read:
        appended.write(b"one")
        disk.rename(path, tmp_path / "log.1")
        disk.write(path, b"another")
        appended.write(b"two")
        assert read.read() == b"onetwo"
        assert read.look().st_size == 6
        assert read.seek(0, io.SEEK_END) == read.tell() == 6
        assert read.seek(3) == 3
        assert read.read(2) == b"tw"
    assert read.closed
    assert disk.read(tmp_path / "log.1") == b"onetwo"
    assert disk.read(path) == b"another"


def test_a_file_is_written_over_in_place(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "trouble"
    disk.write_over(path, b"a long story")
    disk.write_over(path, b"all")
    assert disk.read(path) == b"allong story"
    disk.truncate(path, 3)
    assert disk.read(path) == b"all"


def test_a_touch_moves_the_time_alone(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "held"
    disk.write(path, b"me")
    before = disk.look(path)
    for _ in range(100):
        disk.touch(path)
        if disk.look(path).st_mtime_ns > before.st_mtime_ns:
            break
    assert disk.look(path).st_mtime_ns > before.st_mtime_ns
    assert disk.read(path) == b"me"
    assert disk.look(path).st_ino == before.st_ino
    with pytest.raises(FileNotFoundError):
        disk.touch(tmp_path / "away")


def test_names_and_kinds(disk: Disk, tmp_path: Path) -> None:
    disk.make_folders(tmp_path / "a" / "b")
    disk.make_folders(tmp_path / "a" / "b")
    disk.write(tmp_path / "a" / "x.parquet", b"1")
    disk.write(tmp_path / "a" / "b" / "y.parquet", b"2")
    disk.write(tmp_path / "a" / "b" / "z.crc", b"3")
    assert sorted(disk.names(tmp_path / "a")) == ["b", "x.parquet"]
    assert names_in(disk, tmp_path / "away") == []
    assert list(disk.walk(tmp_path / "away")) == []
    found = {folder: (sorted(inner), sorted(files)) for folder, inner, files in disk.walk(tmp_path / "a")}
    assert found == {
        str(tmp_path / "a"): (["b"], ["x.parquet"]),
        str(tmp_path / "a" / "b"): ([], ["y.parquet", "z.crc"]),
    }
    assert sorted(files_below(disk, tmp_path / "a", suffix=".parquet")) == [
        tmp_path / "a" / "b" / "y.parquet",
        tmp_path / "a" / "x.parquet",
    ]
    assert is_folder(disk, tmp_path / "a")
    assert not is_folder(disk, tmp_path / "a" / "x.parquet")
    assert not is_folder(disk, tmp_path / "away")
    assert stat.S_ISREG(disk.look(tmp_path / "a" / "x.parquet").st_mode)
    assert disk.link_target(tmp_path / "a") is None


def test_a_new_name_moves_the_time_of_its_folder(disk: Disk, tmp_path: Path) -> None:
    before = disk.look(tmp_path).st_mtime_ns
    for number in range(1_000):
        disk.write(tmp_path / f"{number}", b"")
        if disk.look(tmp_path).st_mtime_ns > before:
            break
    assert disk.look(tmp_path).st_mtime_ns > before


def test_what_is_removed_is_gone(disk: Disk, tmp_path: Path) -> None:
    make_folder(disk, tmp_path / "a" / "b")
    disk.write(tmp_path / "a" / "b" / "file", b"1")
    disk.write(tmp_path / "file", b"1")
    disk.remove(tmp_path / "file")
    disk.remove(tmp_path / "file", missing_ok=True)
    disk.remove_tree(tmp_path / "a")
    disk.remove_tree(tmp_path / "a")
    assert disk.names(tmp_path) == []


def test_syncs_need_what_they_sync(disk: Disk, tmp_path: Path) -> None:
    make_folder(disk, tmp_path / "a" / "b")
    disk.write(tmp_path / "a" / "b" / "file", b"1")
    sync_files(disk, [tmp_path / "a" / "b" / "file"], under=tmp_path)
    sync_tree(disk, tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        disk.sync(tmp_path / "away")


def test_a_hash_is_of_the_content(disk: Disk, tmp_path: Path) -> None:
    disk.write(tmp_path / "a", b"content" * 100_000)
    assert sha256_of(disk, tmp_path / "a") == hashlib.sha256(b"content" * 100_000).hexdigest()


Missing = Callable[[Disk, Path], object]


@pytest.mark.parametrize(
    "ask",
    [
        lambda disk, path: disk.read(path),
        lambda disk, path: disk.open(path),
        lambda disk, path: disk.look(path),
        lambda disk, path: disk.names(path),
        lambda disk, path: disk.remove(path),
        lambda disk, path: disk.truncate(path, 0),
        lambda disk, path: disk.rename(path, path.with_name("other")),
        lambda disk, path: disk.link(path, path.with_name("other")),
        lambda disk, path: disk.write(path / "file", b""),
        lambda disk, path: disk.create(path / "file", b""),
        lambda disk, path: disk.open_end(path / "file"),
        lambda disk, path: disk.room(path),
    ],
)
def test_what_is_not_there_is_missed(disk: Disk, tmp_path: Path, ask: Missing) -> None:
    with pytest.raises(FileNotFoundError) as missed:
        ask(disk, tmp_path / "away")
    assert missed.value.errno == errno.ENOENT
    assert missed.value.filename is not None


@pytest.mark.parametrize(
    ("ask", "number"),
    [
        (lambda disk, path: disk.read(path / "folder"), errno.EISDIR),
        (lambda disk, path: disk.write(path / "folder", b""), errno.EISDIR),
        (lambda disk, path: disk.remove(path / "folder"), errno.EISDIR),
        (lambda disk, path: disk.names(path / "file"), errno.ENOTDIR),
        (lambda disk, path: disk.look(path / "file" / "below"), errno.ENOTDIR),
        (lambda disk, path: disk.make_folders(path / "file"), errno.EEXIST),
        (lambda disk, path: disk.rename(path / "file", path / "folder"), errno.EISDIR),
        (lambda disk, path: disk.rename(path / "folder", path / "file"), errno.ENOTDIR),
        (lambda disk, path: disk.link(path / "file", path / "folder"), errno.EEXIST),
    ],
)
def test_files_and_folders_are_told_apart(disk: Disk, tmp_path: Path, ask: Missing, number: int) -> None:
    disk.make_folders(tmp_path / "folder")
    disk.write(tmp_path / "file", b"1")
    with pytest.raises(OSError) as refused:
        ask(disk, tmp_path)
    assert refused.value.errno == number


def test_there_is_room(disk: Disk, tmp_path: Path) -> None:
    room = disk.room(tmp_path)
    assert 0 < room.free <= room.total
