"""The real watching of feeds over a simulated disk."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults.disk import Fault, SimulatedDisk
from faults.lives import Life
from faults.world import World
from pyarrow import orc

from freshtide.catalog import RequestKind
from freshtide.core.arrivals import CHANGED_BEFORE_LOADING, ArrivalState
from freshtide.feeds import FeedSet
from freshtide.feeds.admission import retry
from freshtide.feeds.errors import UnreachableFileError
from freshtide.feeds.formats import CsvFormat, JsonFormat, OrcFormat, ParquetFormat
from tests.faults.rebuilding import answered, finish, land, refused, user_of
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


@pytest.mark.parametrize("call", ["look", "open"])
def test_a_retry_that_the_disk_does_not_answer_leaves_what_is_known_of_the_file(call: str) -> None:
    path, feed = "/project/csv/1.csv", make_feed(path="csv")
    disk, ledger = _with_landing(), MemoryLedger()
    disk.write(path, b"time,host,load\n2024-05-01,a,1\n")
    (arrived,) = polled(FeedSet([feed], _ROOT, ledger, disk=disk), ledger)
    ledger.register([replace(arrived, state=ArrivalState.QUARANTINED, reason=CHANGED_BEFORE_LOADING)])
    disk.faults.append(Fault(error=errno.EIO, calls=frozenset({call}), below=path))
    with pytest.raises(UnreachableFileError, match="Input/output error"):
        retry(feed, path, ledger, NOW, disk=disk)
    again = retry(feed, path, ledger, NOW, disk=disk)
    assert (again.state, again.digest) == (ArrivalState.READY, arrived.digest)


@pytest.mark.parametrize("call", ["look", "open"])
def test_a_run_goes_on_that_is_asked_to_retry_a_file_while_the_disk_does_not_answer(call: str) -> None:
    world = World(5)
    land(world, "in_order")
    life, path = world.begin_life(), world.producer.files[0].path
    life.disk.faults.append(Fault(error=errno.EACCES, calls=frozenset({"open"}), below=path))
    world.go_on(30.0)
    life.disk.faults.append(Fault(error=errno.EIO, calls=frozenset({call}), below=path))
    assert "Input/output error" in refused(world, life, _asked_to_retry(world, life, path))
    answered(world, life, _asked_to_retry(world, life, path))
    finish(world, life)
    world.end()


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


def _asked_to_retry(world: World, life: Life, path: str) -> int:
    return user_of(life).requests.add(RequestKind.RETRY, path, at=world.turns.now)
