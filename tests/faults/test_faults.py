"""Faults come where they are put, and the rest of the disk works meanwhile."""

from __future__ import annotations

import errno
import time

import pytest
from faults.disk import DeadError, Fault, SimulatedDisk


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EMFILE])
def test_the_nth_call_of_a_kind_fails_and_those_after_it_as_often_as_wanted(number: int) -> None:
    disk = SimulatedDisk()
    disk.write("/a", b"1")
    disk.faults.append(Fault(error=number, calls=frozenset({"sync"}), nth=2, times=2))
    failed = []
    for turn in range(1, 6):
        try:
            disk.sync("/a")
        except OSError as error:
            assert error.errno == number
            failed.append(turn)
    assert failed == [2, 3]
    assert disk.read("/a") == b"1"


def test_a_fault_may_concern_some_paths_alone() -> None:
    disk = SimulatedDisk()
    disk.make_folders("/tables/_delta_log")
    disk.faults.append(Fault(error=errno.EIO, below="_delta_log"))
    disk.write("/tables/a", b"1")
    with pytest.raises(OSError, match="Input/output error"):
        disk.write("/tables/_delta_log/0.json", b"1")
    disk.write("/tables/_delta_log/0.json", b"2")
    assert disk.names("/tables/_delta_log") == ["0.json"]


def test_a_full_disk_leaves_a_part_of_what_was_to_be_written() -> None:
    disk = SimulatedDisk()
    disk.faults.append(Fault(error=errno.ENOSPC, calls=frozenset({"write"})))
    with pytest.raises(OSError, match="No space left"):
        disk.write("/a", b"abcd")
    assert disk.read("/a") == b"ab"


def test_a_process_can_die_before_any_call() -> None:
    disk = SimulatedDisk()
    disk.dies_at = 3
    disk.write("/a", b"1")
    disk.write("/b", b"1")
    with pytest.raises(DeadError):
        disk.write("/c", b"1")
    with pytest.raises(DeadError):
        disk.read("/a")
    assert sorted(disk.another_process().names("/")) == ["a", "b"]


def test_it_bears_the_times_of_the_clock_that_it_was_given() -> None:
    now = [1_000.0]
    disk = SimulatedDisk(lambda: now[0])
    disk.write("/a", b"1")
    now[0] = 1_001.5
    disk.write("/b", b"1")
    assert [disk.look(path).st_mtime for path in ("/a", "/b", "/")] == [1_000.0, 1_001.5, 1_001.5]


def test_it_is_fast() -> None:
    disk = SimulatedDisk()
    disk.make_folders("/warehouse/table/_delta_log")
    began = time.process_time()
    for number in range(10_000):
        path = f"/warehouse/table/_delta_log/{number % 100}.json"
        disk.write(path, b"content")
        disk.sync(path)
        disk.read(path)
    assert time.process_time() - began < 3.0, "30,000 calls"
