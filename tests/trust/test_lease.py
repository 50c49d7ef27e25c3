"""One process at a time changes a storage, whichever project it comes from; who has lost that right cannot."""

from __future__ import annotations

import multiprocessing as mp
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from freshtide.catalog import Catalog, RunLease, RunLock, TableRow, WarehouseBusyError
from freshtide.catalog.database import Database
from freshtide.catalog.leases.database import CatalogSeat
from freshtide.catalog.leases.holders import Holder as LeaseHolder
from freshtide.catalog.leases.lease import BEATS
from freshtide.catalog.leases.seats import Standing
from freshtide.core.errors import LeaseLostError, SurroundingsError
from freshtide.world import SystemClock
from tests.catalog.arrivals import a_file
from tests.trust.faults import FailingSync
from tests.waiting import wait_until

_SHORT = 1.0
_VERY_SHORT = 0.2
_ROUNDS = 100
_HOLD = """
import sys, time
from pathlib import Path
from freshtide.catalog import Catalog, RunLease
folder, url = Path(sys.argv[1]), sys.argv[2]
with RunLease(folder, Catalog.open(url).seat, length={length}) as lease:
    print(lease.epoch, flush=True)
    while sys.stdin.readline():
        try:
            lease.require()
            print("held", flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
"""


class Holder:
    """Another process that holds the lease."""

    def __init__(self, folder: Path, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _HOLD.format(length=_SHORT), str(folder), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.epoch = int(self._line())

    @property
    def pid(self) -> int:
        return self.process.pid

    def ask(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        return self._line()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "warehouse" / "_freshtide"


@pytest.fixture
def other(folder: Path, url: str) -> Iterator[Holder]:
    holder = Holder(folder, url)
    yield holder
    holder.kill()


def test_each_lease_has_a_higher_epoch_and_is_seen_from_outside(folder: Path, catalog: Catalog) -> None:
    look = RunLock(folder)
    assert (look.holder(), look.taken_at()) == (None, None)
    epochs = []
    for _ in range(12):
        with RunLease(folder, catalog.seat) as lease:
            epochs.append(lease.epoch)
            holder = look.holder()
            assert holder is not None
            assert holder.pid == os.getpid()
            assert look.taken_at() == holder.taken_at
            lease.require()
        assert look.holder() is None
        assert look.taken_at() == holder.taken_at
        with pytest.raises(LeaseLostError):
            lease.require()
    assert epochs == sorted(set(epochs))
    assert len(list((folder / "epochs").iterdir())) <= 9


def test_the_loser_is_told_who_holds_the_lease_and_does_not_disturb_it(
    other: Holder, folder: Path, catalog: Catalog
) -> None:
    for _ in range(2):
        with pytest.raises(WarehouseBusyError, match=f"process {other.pid} on "), RunLease(folder, catalog.seat):
            pass
        assert other.ask() == "held"
    with pytest.raises(WarehouseBusyError, match=str(other.pid)):
        RunLock(folder).require_free()


def test_a_lock_file_that_was_deleted_lets_nobody_in(other: Holder, folder: Path, catalog: Catalog) -> None:
    (folder / "run.lock").unlink()
    told: list[str] = []
    with (
        pytest.raises(WarehouseBusyError, match=str(other.pid)),
        RunLease(folder, catalog.seat, length=_SHORT, tell=told.append),
    ):
        pass
    assert other.ask() == "held"
    (wait,) = told
    assert f"process {other.pid}" in wait
    assert "waits" in wait


def test_the_storage_excludes_another_project_with_a_catalog_of_its_own(
    other: Holder, folder: Path, tmp_path: Path
) -> None:
    own = Catalog.open(f"sqlite:///{tmp_path / 'own.db'}")
    (folder / "run.lock").unlink()
    with pytest.raises(WarehouseBusyError, match=str(other.pid)), RunLease(folder, own.seat, length=_SHORT):
        pass
    own.close()


def test_the_catalog_excludes_another_storage_that_shares_it(other: Holder, catalog: Catalog, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "_freshtide"
    with pytest.raises(WarehouseBusyError, match=str(other.pid)), RunLease(copy, catalog.seat, length=_SHORT):
        pass
    assert RunLock(copy).holder() is None
    assert other.ask() == "held"


@pytest.mark.parametrize("deleted", [False, True])
def test_after_a_kill_the_next_run_starts_at_once(other: Holder, folder: Path, catalog: Catalog, deleted: bool) -> None:
    if deleted:
        (folder / "run.lock").unlink()
    other.kill()
    assert RunLock(folder).holder() is None
    with RunLease(folder, catalog.seat, length=60.0) as lease:
        assert lease.epoch > other.epoch
        assert not lease.must_fence


def test_a_holder_that_sleeps_longer_than_its_lease_finds_it_lost(
    other: Holder, folder: Path, catalog: Catalog
) -> None:
    other.stop()
    (folder / "run.lock").unlink()  # else the lock would keep everybody out for as long as it sleeps
    with RunLease(folder, catalog.seat, length=_SHORT) as lease:
        assert lease.epoch > other.epoch
        assert lease.must_fence, "nobody knows that it is dead"
        other.wake()
        assert other.ask() == "LeaseLostError"
        lease.require()
    with RunLease(folder, catalog.seat) as lease:
        assert lease.must_fence, "until it is done"
        lease.fenced()
        assert not lease.must_fence


def test_what_has_lost_the_lease_cannot_write_into_the_catalog(folder: Path, catalog: Catalog, url: str) -> None:
    catalog.tables.put(TableRow(name="cpu"))
    with RunLease(folder, catalog.seat, length=60.0):
        catalog.tables.set_status("cpu", "paused")
        taken = catalog.seat.read()
        assert taken is not None
        successor = Catalog.open(url)
        assert successor.seat.take(replace(taken.holder, nonce="another"), taken)
        with pytest.raises(LeaseLostError):
            catalog.tables.set_status("cpu", "failed")
        assert successor.tables.get("cpu").status == "paused"
        successor.tables.set_status("cpu", "active")
        successor.seat.release(replace(taken.holder, nonce="another"))
        successor.close()
    with RunLease(folder, catalog.seat):
        catalog.tables.set_status("cpu", "failed")


def test_who_is_overtaken_in_the_midst_of_writing_is_told_that_its_lease_is_lost(
    folder: Path, catalog: Catalog, url: str
) -> None:
    """It has looked whether a file is known, and another run has registered it before it is written down."""
    successor = Catalog.open(url)
    overtaken: list[str] = []

    def overtake(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("INSERT INTO files") and not overtaken:
            overtaken.append(statement)
            taken = catalog.seat.read()
            assert taken is not None
            assert successor.seat.take(replace(taken.holder, nonce="another"), taken)
            successor.arrivals.register(a_file(digest="new"), ["cpu"])

    with RunLease(folder, catalog.seat, length=60.0):
        event.listen(Engine, "before_cursor_execute", overtake)
        try:
            with pytest.raises(LeaseLostError):
                catalog.arrivals.register(a_file(digest="old"), ["cpu"])
        finally:
            event.remove(Engine, "before_cursor_execute", overtake)
    assert overtaken
    registered = successor.arrivals.by_path("cpu", "/in/a.csv")
    successor.close()
    assert registered is not None
    assert registered.digest == "new"


class CountingSeat(CatalogSeat):
    """Counts the signs of life."""

    beats = 0

    def beat(self, holder: LeaseHolder) -> bool:
        self.beats += 1
        return super().beat(holder)


def test_while_the_storage_is_away_nothing_is_lost_and_nothing_written(folder: Path, catalog: Catalog) -> None:
    seat = CountingSeat(Database(catalog._engine))
    with RunLease(folder, seat, length=_VERY_SHORT) as lease:
        away = folder.rename(folder.with_name("away"))
        with pytest.raises(SurroundingsError, match="cannot be used"):
            lease.require()
        wait_until(lambda: seat.beats >= 2 * BEATS)  # so long that the lease would have been over
        away.rename(folder)
        lease.require()


@pytest.mark.parametrize("what", ["epochs", ".held"])
def test_a_disk_that_fails_while_the_lease_is_taken_leaves_nobody_as_its_holder(
    folder: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with RunLease(folder, catalog.seat):
        pass
    disk = FailingSync(concerns=lambda path: path.name.endswith(what), times=1).installed(monkeypatch)
    with pytest.raises(SurroundingsError, match="Too many open files"), RunLease(folder, catalog.seat):
        pass
    assert len(disk.failed) == 1
    assert RunLock(folder).holder() is None
    with RunLease(folder, catalog.seat) as lease:
        lease.require()


class UnansweringSeat(CatalogSeat):
    """The seat of a catalog that goes away in the moment in which it would be taken."""

    def take(self, holder: LeaseHolder, after: Standing | None) -> bool:  # noqa: ARG002 - it does not get that far
        raise SurroundingsError("The catalog does not answer.")


def test_a_catalog_that_goes_away_while_the_lease_is_taken_leaves_nobody_as_its_holder(
    folder: Path, catalog: Catalog
) -> None:
    seat = UnansweringSeat(Database(catalog._engine))
    with pytest.raises(SurroundingsError, match="does not answer"), RunLease(folder, seat):
        pass
    assert RunLock(folder).holder() is None
    with RunLease(folder, catalog.seat) as lease:
        lease.require()


class AheadClock(SystemClock):
    """Shows a later time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def now(self) -> float:
        return super().now() + self._seconds


def test_where_both_seats_were_thrown_away_the_next_epoch_is_higher_all_the_same(folder: Path, tmp_path: Path) -> None:
    epochs = []
    for seconds, name in enumerate(("first", "second")):
        catalog = Catalog.open(f"sqlite:///{tmp_path / name}.db")
        with RunLease(folder, catalog.seat, clock=AheadClock(seconds)) as lease:
            epochs.append(lease.epoch)
        catalog.close()
        shutil.rmtree(folder)
    assert epochs[0] < epochs[1]


class _LockOfAnotherMachine:
    """Keeps nobody of this machine out."""

    identity = "elsewhere"

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def test_who_is_held_up_while_it_takes_the_lease_does_not_take_it_from_a_living_holder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, others = (Catalog.open(f"sqlite:///{tmp_path / name}.db") for name in ("own", "others"))
    with RunLease(folder, others.seat):
        pass
    now = SystemClock().now()
    clock = SystemClock()
    rival = RunLease(folder, others.seat, lock=lambda _: _LockOfAnotherMachine())
    late = RunLease(folder, own.seat, clock=clock, lock=lambda _: _LockOfAnotherMachine())
    read = own.seat.read

    def look_and_sleep() -> Standing | None:
        found = read()
        rival.__enter__()
        monkeypatch.setattr(clock, "now", lambda: now + 60.0)
        return found

    monkeypatch.setattr(own.seat, "read", look_and_sleep)
    with pytest.raises(WarehouseBusyError, match=str(os.getpid())):
        late.__enter__()
    rival.require()
    rival.__exit__(None, None, None)
    own.close()
    others.close()


def _look(folder: Path, looking: threading.Event, stop: threading.Event) -> None:
    while not stop.is_set():
        RunLock(folder).holder()
        looking.set()


def test_looking_never_keeps_a_run_from_starting(folder: Path, catalog: Catalog) -> None:
    spawning = mp.get_context("spawn")
    looking, stop = spawning.Event(), spawning.Event()
    onlooker = spawning.Process(target=_look, args=(folder, looking, stop))
    onlooker.start()
    try:
        assert looking.wait(60.0)
        for _ in range(_ROUNDS):
            with RunLease(folder, catalog.seat):
                pass
    finally:
        stop.set()
        onlooker.join()
