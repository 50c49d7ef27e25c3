"""The real tables over a simulated disk: what was reported survives a power cut at any moment, once and whole."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from faults.deltalog import PlainDeltaLogs
from faults.disk import DeadError, Fault, SimulatedDisk
from faults.platter import Platter

from freshtide.core.errors import FreshtideError
from freshtide.storage import StoredTable, compact, stored_rows
from freshtide.world import OsDisk, StrPath
from tests.storage.tablebench import AT, commit, rows

_UPDATES = 40
_FOLDER = Path("/warehouse/t")


def test_what_was_reported_survives_a_power_cut_at_any_moment() -> None:
    for seed in range(40):
        assert _lost_or_doubled(SimulatedDisk(_now), Random(seed)) is None, f"seed {seed}"


_SYNCED: dict[str, Callable[[str], bool]] = {
    "the content of an entry": lambda path: ".entry-" in path,
    "the name of an entry": lambda path: path.endswith("_delta_log"),
    "the content of a data file": lambda path: path.endswith(".parquet") and "checkpoint" not in path,
    "the name of a data file": lambda path: path == str(_FOLDER),
    "the names of folders": lambda path: path in ("/", str(_FOLDER.parent)),
}


@pytest.mark.parametrize("what", _SYNCED)
def test_a_sync_that_is_left_out_is_found(what: str) -> None:
    """Otherwise the test above would prove nothing."""
    assert any(_lost_or_doubled(_Forgetful(_SYNCED[what]), Random(seed)) for seed in range(200))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EMFILE])
def test_a_fault_at_any_call_loses_and_doubles_nothing(number: int) -> None:
    for seed in range(15):
        rng = Random(seed)
        disk = SimulatedDisk(_now)
        disk.faults = [Fault(error=number, nth=rng.randint(1, 900), times=rng.choice((1, 1, 5, 50))) for _ in range(3)]
        done = 0
        while done < _UPDATES:
            done = max(done, _work(disk, []))
        assert _held(disk) == list(range(1, _UPDATES + 1)), f"seed {seed}"


def test_tables_need_nothing_but_the_disk_that_they_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("open", "read", "write", "sync", "look", "names", "link", "rename"):
        monkeypatch.delattr(OsDisk, name)
    assert _work(SimulatedDisk(_now), []) == _UPDATES


def _lost_or_doubled(disk: SimulatedDisk, rng: Random) -> str | None:
    """Cut the power every now and then until all is done; what is wrong then, if anything."""
    reported: list[int] = []
    for _ in range(20):
        disk.dies_at = rng.randint(1, 1_500)
        try:
            _work(disk, reported)
        except DeadError:
            disk = disk.crash(rng)
        else:
            break
        try:
            held = _held(disk)
        except (FreshtideError, OSError, pa.ArrowException) as error:
            return f"{error}"
        if held != list(range(1, len(held) + 1)) or len(held) < max(reported, default=0):
            return f"{held} is there, and {reported[-1:]} was reported"
    else:
        disk.dies_at = None
        _work(disk, reported)
    return None if _held(disk) == list(range(1, _UPDATES + 1)) else "not all of it is there in the end"


def _work(disk: SimulatedDisk, reported: list[int]) -> int:
    """Make updates until there are enough, or the disk refuses one; how many there are."""
    done = 0
    try:
        table = _opened(disk)
        table.recover()
        done = table.snapshot.number if table.snapshot else 0
        for number in range(done + 1, _UPDATES + 1):
            commit(table, number, rows(number))
            reported.append(number)
            done = number
            compact(table, at=AT)
            table.keep_house(3_600.0, at=AT)
    except (FreshtideError, OSError):
        pass
    return done


def _held(disk: SimulatedDisk) -> list[int]:
    disk.dies_at, disk.faults = None, []
    found = _opened(disk).recover()
    return [] if found is None else sorted(stored_rows(found, found.files).column("value").to_pylist())


def _opened(disk: SimulatedDisk) -> StoredTable:
    return StoredTable(_FOLDER, time_column="time", disk=disk, logs=PlainDeltaLogs(disk, _now))


def _now() -> float:
    return AT + 86_400.0


class _Forgetful(SimulatedDisk):
    """Some syncs are left out."""

    def __init__(self, forgets: Callable[[str], bool], platter: Platter | None = None) -> None:
        super().__init__(_now, platter=platter)
        self._forgets = forgets

    def sync(self, path: StrPath) -> None:
        if not self._forgets(str(path)):
            super().sync(path)

    def after_power_cut(self, rng: Random) -> SimulatedDisk:
        return _Forgetful(self._forgets, self._platter.after_power_cut(rng))
