"""Disk and database fail for a while: no table is to blame, the run waits, tells, and goes on."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from freshtide.runs import replay_trace
from freshtide.spark import SparkSession
from tests.examples import slow_except
from tests.trust.runs import Running, running
from tests.waiting import or_too_late
from tests.warehouse.shop import Shop

QUICKLY = {"attempts": 2, "backoff": "20ms", "longest": "100ms"}


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop", spark, retry=QUICKLY)
    made.events("a")
    made.view("v", "SELECT k, sum(v) AS total, max(ts) AS ts FROM a GROUP BY k", time_column="ts")
    yield made
    made.warehouse.close()


class Disk:
    """The edge to the disk, with a fault that comes and goes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.fault: int | None = None
        self.below = ""
        sync = os.fsync

        def fsync(handle: int) -> None:
            path = str(Path(f"/proc/self/fd/{handle}").readlink())
            if self.fault is not None and self.below in path:
                raise OSError(self.fault, os.strerror(self.fault))
            sync(handle)

        patch.setattr(os, "fsync", fsync)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def loaded(shop: Shop) -> list[int]:
    begun = any((shop.root / "warehouse" / "a" / "_delta_log").glob("*.json"))
    return sorted(row["v"] for row in shop.rows("a")) if begun else []


def heard_often(run: Running, words: str, times: int) -> bool:
    return sum(words in told for told in run.news) >= times


def all_is_well(shop: Shop) -> None:
    status = shop.warehouse.status()
    assert [table.status for table in status.tables] == ["active"] * len(status.tables)
    assert [table.failures for table in status.tables] == [0] * len(status.tables)
    assert status.surroundings is None
    shop.check()


@pytest.mark.parametrize("fault", slow_except([errno.ENOSPC, errno.EROFS, errno.EMFILE], errno.ENOSPC))
def test_a_disk_that_is_full_or_broken_for_a_while_fails_no_table(shop: Shop, disk: Disk, fault: int) -> None:
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    with running(shop) as run:
        run.wait_for(lambda: loaded(shop) == [1])
        disk.fault = fault
        for number in (2, 3, 4):
            shop.drop_events("a", f"{number}.csv", [(number, "x", number)])
        run.wait_for(lambda: run.heard("Work waits"))
        told = shop.warehouse.status().surroundings
        assert told is not None
        assert os.strerror(fault) in told.reason
        disk.fault = None
        run.wait_for(lambda: run.heard("Work goes on"))
        run.wait_for(lambda: loaded(shop) == [1, 2, 3, 4])
        run.wait_for(lambda: shop.freshness("v") == 4)
    all_is_well(shop)
    assert replay_trace(shop.root / ".freshtide" / "trace.jsonl").difference is None


def test_what_fails_while_all_around_it_is_well_is_given_up_in_the_end(shop: Shop, disk: Disk) -> None:
    shop.events("b")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.drop_events("b", "1.csv", [(1, "x", 1)])
    disk.fault, disk.below = errno.EIO, "/warehouse/b/"
    report = shop.warehouse.run(once=True, until=or_too_late(lambda: False))
    assert list(report.failed) == ["b"]
    assert loaded(shop) == [1]


class Database:
    """The edge to the catalog's database, which does not answer while `away`."""

    def __init__(self, shop: Shop) -> None:
        self.away = False
        engine = shop.warehouse.workbench.catalog._engine
        gone = engine.dialect.loaded_dbapi.OperationalError

        def execute(*_: Any) -> None:
            if self.away:
                raise gone("the server closed the connection unexpectedly")

        event.listen(engine, "do_execute", execute)
        event.listen(engine, "do_executemany", execute)


def test_a_database_that_is_away_for_a_while_ends_no_run_and_fails_no_table(shop: Shop) -> None:
    database = Database(shop)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    with running(shop) as run:
        run.wait_for(lambda: loaded(shop) == [1])
        for number in (2, 3, 4):
            database.away = True
            shop.drop_events("a", f"{number}.csv", [(number, "x", number)])
            run.wait_for(partial(heard_often, run, "Work waits", number - 1))
            database.away = False
            run.wait_for(partial(heard_often, run, "Work goes on", number - 1))
        run.wait_for(lambda: loaded(shop) == [1, 2, 3, 4])
        run.wait_for(lambda: shop.freshness("v") == 4)
    assert run.heard("does not answer")
    all_is_well(shop)


def test_work_does_not_go_on_before_it_is_there_again_who_runs_the_warehouse(shop: Shop) -> None:
    seat, away = shop.root / "warehouse" / "_freshtide", shop.root / "elsewhere"
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    with running(shop) as run:
        run.wait_for(lambda: loaded(shop) == [1])
        seat.rename(away)
        shop.drop_events("a", "2.csv", [(2, "x", 2)])
        run.wait_for(partial(heard_often, run, "Work waits", 1))
        looked = threading.Event()
        looked.wait(0.5)  # Several looks take no longer.
        assert not run.heard("Work goes on")
        if seat.exists():
            seat.rmdir()
        away.rename(seat)
        run.wait_for(lambda: loaded(shop) == [1, 2])
    all_is_well(shop)


def test_a_commit_is_booked_even_if_the_database_goes_away_right_after_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(shop)
    catalog = shop.warehouse.workbench.catalog
    book, times = catalog.book_update, itertools.count()

    def goes_away(*args: Any, **how: Any) -> None:
        turn = next(times)
        if turn > 0:
            book(*args, **how)
        if turn < 2:
            # First before it is written down, then after it: all that is lost is the answer.
            database.away = True
            catalog.require_answer()

    monkeypatch.setattr(catalog, "book_update", goes_away)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    with running(shop) as run:
        for turn in (1, 2):
            run.wait_for(partial(heard_often, run, "Work waits", turn))
            database.away = False
        run.wait_for(lambda: shop.freshness("v") == 1)
    count = shop.counts()["a"]
    assert (count.arrived, count.read, count.faults) == (1, 1, ())
    all_is_well(shop)


def test_a_disk_that_is_nearly_full_pauses_loading_until_there_is_room(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage
    room = [10_000_000]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(path)._replace(free=room[0], total=10**12))
    with running(shop) as run:
        run.wait_for(lambda: run.heard("10.0 MB are free"))
        shop.drop_events("a", "1.csv", [(1, "x", 1)])
        run.wait_for(lambda: sum(table.pending for table in shop.warehouse.status().tables) > 0)
        told = shop.warehouse.status().surroundings
        assert told is not None
        assert "1.0 GB must be" in told.reason
        assert loaded(shop) == []
        room[0] = 2 * 10**9
        run.wait_for(lambda: shop.freshness("v") == 1)
    all_is_well(shop)
