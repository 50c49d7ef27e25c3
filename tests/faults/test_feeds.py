"""The real watching of feeds over a simulated disk."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from faults.disk import Fault, SimulatedDisk
from pyarrow import orc

from freshtide.core.arrivals import ArrivalState
from freshtide.feeds import FeedSet
from freshtide.feeds.formats import CsvFormat, JsonFormat, OrcFormat, ParquetFormat
from tests.feeds.samples import LONG_AGO, NOW, MemoryLedger, make_feed, polled

_ROOT = Path("/project")
_FORMATS = {each.name: each for each in (CsvFormat, JsonFormat, ParquetFormat, OrcFormat)}
_ROWS = pa.table({"time": ["2024-05-01", "2024-05-02"], "host": ["a", "b"], "load": ["1", "2"]})


def test_files_of_all_formats_are_found_settled_and_inspected() -> None:
    disk, ledger = _with_landing(), MemoryLedger()
    disk.write("/project/csv/1.csv", b"time,host,load\n2024-05-01,a,1\n2024-05-02,b,2\n")
    disk.write("/project/json/1.json", b'{"time":"2024-05-01"}\n{"time":"2024-05-02"}\n')
    for name, write in (("parquet", pq.write_table), ("orc", orc.write_table)):
        content = pa.BufferOutputStream()
        write(_ROWS, content)
        disk.write(f"/project/{name}/1.{name}", content.getvalue())
    feeds = [make_feed(name=name, path=name, format=format_) for name, format_ in _FORMATS.items()]
    found = polled(FeedSet(feeds, _ROOT, ledger, disk=disk), ledger)
    assert {(file.feed, file.state, file.rows) for file in found} == {
        (name, ArrivalState.READY, 2) for name in _FORMATS
    }
    assert len({file.timestamp for file in found}) == 1


def test_a_file_that_the_disk_does_not_hand_out_is_read_when_it_does() -> None:
    disk, ledger = _with_landing(), MemoryLedger()
    disk.write("/project/csv/1.csv", b"time,host,load\n2024-05-01,a,1\n")
    feeds = FeedSet([make_feed(path="csv")], _ROOT, ledger, disk=disk)
    disk.faults.append(Fault(error=errno.EIO, calls=frozenset({"open"})))
    assert polled(feeds, ledger) == []
    assert "Input/output error" in str(feeds.faults)
    assert [file.state for later in (1, 2) for file in polled(feeds, ledger, NOW + later)] == [ArrivalState.READY]


def test_an_idle_poll_asks_one_question_for_each_folder() -> None:
    disk, ledger = _with_landing(), MemoryLedger()
    for number in range(30):
        disk.write(f"/project/csv/{number}.csv", b"time,host,load\n2024-05-01,a,%d\n" % number)
    feeds = FeedSet([make_feed(path="csv")], _ROOT, ledger, sweep_interval=1e9, disk=disk)
    assert len(polled(feeds, ledger)) == 30
    polled(feeds, ledger, NOW + 1)
    before = disk.calls.copy()
    polled(feeds, ledger, NOW + 2)
    assert disk.calls - before == {"look": 1}


def _with_landing() -> SimulatedDisk:
    disk = SimulatedDisk(lambda: LONG_AGO)
    for name in _FORMATS:
        disk.make_folders(_ROOT / name)
    return disk
