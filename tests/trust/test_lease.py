"""One process at a time changes a storage, whichever project it comes from; who has lost that right cannot."""

from __future__ import annotations

import multiprocessing as mp
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from freshtide.catalog import Catalog, RunLease, RunLock, TableRow, WarehouseBusyError, lease_folder
from freshtide.catalog.database import Database
from freshtide.catalog.leases.database import CatalogSeat
from freshtide.catalog.leases.folder import FolderSeat
from freshtide.catalog.leases.holders import Holder as LeaseHolder
from freshtide.catalog.leases.lease import LENGTH
from freshtide.catalog.leases.seats import Standing
from freshtide.core.errors import LeaseLostError, SurroundingsError
from freshtide.project import create_starter
from freshtide.spark import SparkSession
from tests.trust.faults import FailingSync
from tests.warehouse.shop import Shop

_SHORT = 1.0
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


def test_while_the_storage_is_away_nothing_is_lost_and_nothing_written(folder: Path, catalog: Catalog) -> None:
    with RunLease(folder, catalog.seat, length=_SHORT) as lease:
        away = folder.rename(folder.with_name("away"))
        with pytest.raises(SurroundingsError, match="cannot be used"):
            lease.require()
        time.sleep(_SHORT)
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


def test_where_both_seats_were_thrown_away_the_next_epoch_is_higher_all_the_same(folder: Path, tmp_path: Path) -> None:
    epochs = []
    for name in ("first", "second"):
        catalog = Catalog.open(f"sqlite:///{tmp_path / name}.db")
        with RunLease(folder, catalog.seat) as lease:
            epochs.append(lease.epoch)
        catalog.close()
        shutil.rmtree(folder)
        time.sleep(1.0)
    assert epochs[0] < epochs[1]


def _look(folder: Path, stop: threading.Event) -> None:
    while not stop.is_set():
        RunLock(folder).holder()


def test_looking_never_keeps_a_run_from_starting(folder: Path, catalog: Catalog) -> None:
    stop = mp.get_context("spawn").Event()
    looking = mp.get_context("spawn").Process(target=_look, args=(folder, stop))
    looking.start()
    try:
        until = time.monotonic() + 4.0
        while time.monotonic() < until:
            with RunLease(folder, catalog.seat):
                pass
    finally:
        stop.set()
        looking.join()


def test_two_projects_on_one_storage_do_not_load_beside_each_other(
    tmp_path: Path, spark: SparkSession, shop: Shop
) -> None:
    beside = Shop(tmp_path / "copy", spark, storage=str(shop.root / "warehouse"))
    for copy in (shop, beside):
        copy.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    beside.drop_events("a", "2.csv", [(2, "x", 2)])
    with _running(shop):
        _wait_for(lambda: _has_committed(shop, "a"))
        with pytest.raises(WarehouseBusyError, match=str(os.getpid())):
            beside.warehouse.run_once()
    assert [row["v"] for row in shop.rows("a")] == [1]
    beside.warehouse.close()


def test_a_run_that_has_lost_its_lease_ends_and_books_nothing(shop: Shop) -> None:
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    with pytest.raises(LeaseLostError, match="nothing more is written"), _running(shop):
        _wait_for(lambda: _has_committed(shop, "a"))
        seat = FolderSeat(lease_folder(shop.root / "warehouse"))
        found = seat.read()
        assert found is not None
        successor = replace(found.holder, epoch=found.holder.epoch + 1, nonce="another", born=0)
        assert seat.take(successor, found)
        shop.drop_events("a", "2.csv", [(2, "x", 2)])
    assert [row["v"] for row in shop.rows("a")] == [1]
    assert shop.warehouse.status().tables[0].status == "active", "nothing is the table's fault"
    shop.load()
    assert sorted(row["v"] for row in shop.rows("a")) == [1, 2]
    shop.check()


@pytest.mark.slow
def test_a_run_that_slept_while_another_took_over_is_refused_and_no_row_is_lost_or_twice(tmp_path: Path) -> None:
    project, twin = tmp_path / "shop", tmp_path / "twin"
    for folder in (project, twin):
        # Each with a catalog of its own: a process that stops in the midst of writing into SQLite locks it.
        create_starter(folder, "shop")
        for file, key in (("freshtide.yml", "storage: "), ("feeds/orders_feed.yml", "path: ")):
            text = (folder / file).read_text()
            (folder / file).write_text(text.replace(f"\n{key}", f"\n{key}{project}/"))
    sleeper = _freshtide("run", at=project)
    try:
        _wait_for(lambda: bool(_orders(project)))
        for number in range(30):
            _order(project, number)
            if number == 15:
                sleeper.send_signal(signal.SIGSTOP)
        # As from another machine: there is no lock that tells that the process is there.
        (lease_folder(project / "warehouse") / "run.lock").unlink()
        time.sleep(LENGTH)
        other = _freshtide("run", "--once", at=twin)
        said = other.communicate(timeout=180)
        assert other.returncode == 0, said
        loaded = _orders(project)
        _order(project, 30)
        sleeper.send_signal(signal.SIGCONT)
        _, told = sleeper.communicate(timeout=60)
    finally:
        sleeper.kill()
    assert (sleeper.returncode, "nothing more is written" in told) == (1, True), told
    assert _orders(project) == loaded
    assert set(loaded.values()) == {1}
    assert {_FIRST + number for number in range(30)} <= set(loaded)


_FIRST = 900_000


def _freshtide(*words: str, at: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "freshtide", *words], cwd=at, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _order(project: Path, number: int) -> None:
    landing = project / "landing" / "orders"
    hidden = landing / f".{number}"
    row = f"{_FIRST + number},2026-05-01T11:{number:02d}:00Z,Zoe,12.00"
    hidden.write_text(f"order_id,ordered_at,customer,amount\n{row}\n")
    hidden.rename(landing / f"new-{number}.csv")


def _orders(project: Path) -> Counter[int]:
    table = project / "warehouse" / "orders"
    if not (table / "_delta_log").exists():
        return Counter()
    return Counter(pl.read_delta(str(table))["order_id"].to_list())


@contextmanager
def _running(shop: Shop) -> Iterator[None]:
    """A run beside the test; what ends it before its time is raised in the end."""
    stop, ended = threading.Event(), threading.Event()
    faults: list[BaseException] = []

    def run() -> None:
        try:
            shop.warehouse.run(stop=stop)
        except BaseException as error:
            faults.append(error)
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
        ended.wait(3.0)
    finally:
        stop.set()
        thread.join()
    if faults:
        raise faults[0]


def _has_committed(shop: Shop, table: str) -> bool:
    return any((shop.root / "warehouse" / table / "_delta_log").glob("*.json"))


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 180.0
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
