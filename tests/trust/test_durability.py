"""What is reported to have landed survives a power cut: its content, its name, and the names of its folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from freshtide.storage import DiskError, Store
from tests.examples import slow_except
from tests.storage.tablebench import commit, held, opened, rows, values


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """What has been forced to disk so far."""
    paths: set[Path] = set()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        paths.add(Path(f"/proc/self/fd/{descriptor}").readlink())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


def test_all_that_a_commit_needs_is_on_disk_when_it_is_reported(tmp_path: Path, synced: set[Path]) -> None:
    table = Store(tmp_path / "new" / "warehouse").table("t", time_column="time")
    commit(table, 1, rows(1, 2, kind=["a", "b"]), by=("kind",))
    for path in table.folder.rglob("*"):
        if path.suffix == ".parquet":
            assert path in synced
        assert path.parent in synced, f"the name of {path} is durable"
    assert {table.folder.parent, tmp_path / "new", tmp_path} <= synced


def test_what_spark_wrote_is_on_disk_too(tmp_path: Path, synced: set[Path]) -> None:
    table = opened(tmp_path / "warehouse" / "t")
    staging = table.staging(1)
    for kind in ("a", "b"):
        (staging / f"kind={kind}").mkdir(parents=True)
        other = opened(tmp_path / "elsewhere")
        (written,) = other.write(rows(1), number=1)
        (tmp_path / "elsewhere" / written.path).rename(staging / f"kind={kind}" / "part.parquet")
    synced.clear()
    table.adopt(staging, number=1, partition_by=("kind",))
    commit(table, 1, rows(), by=("kind",))
    assert {table.folder / "kind=a", table.folder / "kind=b", table.folder, tmp_path / "warehouse", tmp_path} <= synced


def test_a_commit_is_durable_before_anybody_can_see_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    real, seen = os.fsync, []
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        seen.append(DeltaTable(tmp_path / "t").version())
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    commit(table, 2, rows(2))
    assert seen[-2:] == [0, 1], "its content, then its name"
    assert (synced[-2].startswith(".entry-"), synced[-1]) == (True, "_delta_log")


def test_checkpoints_are_durable(tmp_path: Path, synced: set[Path]) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    synced.clear()
    table.checkpoint()
    log = tmp_path / "t" / "_delta_log"
    assert {log / f"{0:020d}.checkpoint.parquet", log / "_last_checkpoint", log} <= synced


def test_what_landed_before_a_crash_is_made_durable_before_it_is_believed(tmp_path: Path, synced: set[Path]) -> None:
    commit(opened(tmp_path / "t"), 1, rows(1))
    synced.clear()
    opened(tmp_path / "t").recover()
    log = tmp_path / "t" / "_delta_log"
    assert {log / f"{0:020d}.json", log, tmp_path / "t", tmp_path} <= synced


def test_a_checkpoint_is_not_dropped_because_a_descriptor_is_lacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1))
    table.checkpoint()

    def refused(*_: object, **__: object) -> None:
        raise OSError("Generic LocalFileSystem error: Unable to open file: Too many open files (os error 24)")

    with monkeypatch.context() as short:
        short.setattr("freshtide.storage.deltars.DeltaTable", refused)
        with pytest.raises(DiskError, match="Too many open files"):
            opened(tmp_path / "t")
    assert list((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))
    assert held(opened(tmp_path / "t").snapshot) == [1]


_UPDATES = """
import sys, time
from pathlib import Path
from freshtide.storage import compact
from tests.storage.tablebench import commit, opened, rows
table = opened(Path(sys.argv[1]))
table.recover()
for number in range(1 + (table.snapshot.number if table.snapshot else 0), 41):
    commit(table, number, rows(number))
    compact(table, at=time.time() - 7_200.0)
    table.keep_house(3_600.0, at=time.time())
table.vacuum(3_600.0, at=time.time())
"""


_POINTS = ("log-entry:3", "compaction", "compaction:2", "checkpoint", "vacuum:5", "recovery")


@pytest.mark.parametrize("point", slow_except(_POINTS, "log-entry:3", "compaction:2"))
def test_a_process_that_is_killed_where_it_hurts_leaves_nothing_lost_or_doubled(tmp_path: Path, point: str) -> None:
    command = [sys.executable, "-c", _UPDATES, str(tmp_path / "t")]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run(command, env={**surroundings, "FRESHTIDE_CRASH_AT": point}, check=False)
    assert killed.returncode == -9
    found = opened(tmp_path / "t").recover()
    if found is not None:
        assert held(found) == list(range(1, found.number + 1))
    subprocess.run(command, env=surroundings, check=True)
    assert values(tmp_path / "t") == list(range(1, 41))
