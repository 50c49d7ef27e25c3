"""A disk that is full for a while leaves no gap in a trace, and no torn line."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from freshtide.core.events import DataArrived
from freshtide.runs import replay_trace, scheduler_from
from freshtide.runtime.trace import TraceWriter
from freshtide.scheduling import Beginning, Policy, RetryPolicy, ScheduledTable
from freshtide.world.disk import OsFile


class SmallDisk(OsFile):
    """Takes so many bytes and no more."""

    room = 1_000_000

    def write(self, data: bytes) -> int:  # type: ignore[override]
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = super().write(data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1, 150])
def test_lines_wait_in_memory_until_there_is_room(tmp_path: Path, room: int) -> None:
    path = tmp_path / "trace.jsonl"
    table = ScheduledTable(name="t", period=1.0)
    beginning = Beginning(tables=(table,), tracks=1, policy=Policy(), retry=RetryPolicy())
    trace = TraceWriter(path, beginning)
    scheduler = scheduler_from(beginning, trace.recording(lambda _table, cut: cut))
    disk = SmallDisk(path, "ab")
    trace._file = disk
    told: list[OSError] = []
    trace.on_failure = told.append
    for second in range(6):
        disk.room = room if second == 2 else disk.room
        events = [DataArrived("t", float(second))]
        trace.write(float(second), events, scheduler.handle(events, float(second)))
    assert told
    disk.room = 1_000_000
    trace.settle()
    trace.close()
    found = replay_trace(path)
    assert (found.decisions, found.difference) == (6, None)
