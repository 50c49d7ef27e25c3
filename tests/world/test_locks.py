"""What every lock of processes does, the real one and the simulated one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.machines import Machine

from freshtide.world import FileLock, ProcessLock, SystemProcesses

_Locks = tuple[Callable[[Path], ProcessLock], Callable[[Path], ProcessLock]]


@pytest.fixture(params=["real", "simulated"])
def locks(request: pytest.FixtureRequest) -> _Locks:
    """As two processes ask for them."""
    machine = Machine("one")
    # Two descriptors of one process are as good as two processes to the system.
    return (FileLock, FileLock) if request.param == "real" else (machine.start().lock, machine.start().lock)


def test_one_has_it_at_a_time(locks: _Locks, tmp_path: Path) -> None:
    mine, theirs = (lock(tmp_path / "run.lock") for lock in locks)
    assert mine.acquire()
    assert not theirs.acquire()
    mine.release()
    assert theirs.acquire()
    mine.release()
    assert not mine.acquire(), "what one does not have, one cannot give back"


def test_it_is_the_same_lock_to_all(locks: _Locks, tmp_path: Path) -> None:
    mine, theirs = (lock(tmp_path / "run.lock") for lock in locks)
    assert mine.acquire()
    seen = mine.identity
    mine.release()
    assert theirs.acquire()
    assert theirs.identity == seen


def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    machine = Machine("one")
    first, second = machine.start(), machine.start()
    assert first.lock(tmp_path / "run.lock").acquire()
    first.kill()
    assert second.lock(tmp_path / "run.lock").acquire()
    assert not second.lives(first.pid, first.this().born)
    assert second.lives(second.pid, second.this().born)


def test_a_process_knows_itself_and_who_has_ended() -> None:
    processes = SystemProcesses()
    this = processes.this()
    assert processes.lives(this.pid, this.born)
    assert not processes.lives(this.pid, 0 if this.born is None else this.born - 1), "its id was used before"
    with subprocess.Popen([sys.executable, "-c", ""]) as other:
        pass
    assert not processes.lives(other.pid, None)
