"""Two runs of one storage: one of them loads, and a run that has lost its right to write loads nothing more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from freshtide.catalog import RunLock, WarehouseBusyError, lease_folder
from freshtide.catalog.leases.folder import FolderSeat
from freshtide.core.errors import LeaseLostError
from freshtide.project import create_starter
from freshtide.spark import SparkSession
from tests.trust.runs import Running, running
from tests.waiting import wait_until
from tests.warehouse.shop import Shop


def test_two_projects_on_one_storage_do_not_load_beside_each_other(
    tmp_path: Path, spark: SparkSession, shop: Shop
) -> None:
    beside = Shop(tmp_path / "copy", spark, storage=str(shop.root / "warehouse"))
    for copy in (shop, beside):
        copy.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    beside.drop_events("a", "2.csv", [(2, "x", 2)])
    with running(shop) as run:
        run.wait_for(lambda: _has_committed(shop, "a"))
        with pytest.raises(WarehouseBusyError, match=str(os.getpid())):
            beside.warehouse.run_once()
    assert [row["v"] for row in shop.rows("a")] == [1]
    beside.warehouse.close()


def test_a_run_that_has_lost_its_lease_ends_and_books_nothing(shop: Shop) -> None:
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    run = Running(shop)
    run.wait_for(lambda: _has_committed(shop, "a"))
    seat = FolderSeat(lease_folder(shop.root / "warehouse"))
    found = seat.read()
    assert found is not None
    successor = replace(found.holder, epoch=found.holder.epoch + 1, nonce="another", born=0)
    assert seat.take(successor, found)
    shop.drop_events("a", "2.csv", [(2, "x", 2)])
    with pytest.raises(LeaseLostError, match="nothing more is written"):
        raise run.wait_for_fault()
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
        wait_until(lambda: bool(_orders(project)), unless=sleeper.poll)
        for number in range(30):
            _order(project, number)
            if number == 15:
                sleeper.send_signal(signal.SIGSTOP)
        # As from another machine: there is no lock that tells that the process is there. The other waits for its lease.
        (lease_folder(project / "warehouse") / "run.lock").unlink()
        wait_until(lambda: _seems_free(project))
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


def _seems_free(project: Path) -> bool:
    """Whether nobody has given a sign for as long as a lease lasts."""
    try:
        RunLock(lease_folder(project / "warehouse")).require_free()
    except WarehouseBusyError:
        return False
    return True


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


def _has_committed(shop: Shop, table: str) -> bool:
    return any((shop.root / "warehouse" / table / "_delta_log").glob("*.json"))
