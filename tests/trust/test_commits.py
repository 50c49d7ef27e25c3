"""Whatever goes wrong around a commit, what is booked is what is in the table."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from freshtide.core.arrivals import Arrival
from freshtide.core.errors import LeaseLostError
from freshtide.spark import SparkSession
from freshtide.storage import (
    Change,
    DiskError,
    ForeignCommitError,
    LoadedArrival,
    Store,
    StoredTable,
    Writer,
    compact,
)
from tests.examples import slow_except
from tests.storage.tablebench import AT, commit, held, opened, rows, update, values
from tests.trust.faults import FailingSync, log_of
from tests.warehouse.shop import Shop
from tests.warehouse.test_update_tables import MEANS, update_table


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Iterator[Shop]:
    """One whose updates are tried again at once."""
    made = Shop(tmp_path / "shop", spark, retry={"attempts": 6, "backoff": "10ms"})
    yield made
    made.warehouse.close()


def in_table(shop: Shop, table: str) -> list[int]:
    return sorted(row["v"] for row in shop.rows(table))


def booked(shop: Shop, table: str) -> list[str]:
    return sorted(Path(file.position).name for file in loaded(shop, table))


def loaded(shop: Shop, table: str) -> list[Arrival]:
    return shop.warehouse.workbench.catalog.arrivals.loaded(table)


@pytest.mark.parametrize("times", slow_except([1, 2, 3], 1, 2), ids=["once", "twice", "three times"])
def test_what_has_landed_is_booked_once_though_its_fsync_fails(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The second time it fails, the log cannot be read again at once: nobody knows what landed, until it can be."""
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    fault = FailingSync(log_of("a", version=1), times).installed(monkeypatch)
    for number in range(2, 6):
        shop.drop_events("a", f"{number}.csv", [(number, "x", number)])
        shop.load()
    assert len(fault.failed) == times
    assert in_table(shop, "a") == [1, 2, 3, 4, 5]
    assert booked(shop, "a") == [f"{number}.csv" for number in range(1, 6)]
    shop.check()


@pytest.mark.parametrize("window", [None, "10s"], ids=["rows", "windows"])
def test_an_update_table_goes_on_after_a_commit_that_nobody_could_tell_of(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, window: str | None
) -> None:
    """What waits in memory is forgotten then, and files that are not done with are read again."""
    query = "*" if window is None else MEANS.format("quotes")
    update_table(shop, query=query, **({} if window is None else {"window": window}))
    shop.drop_events("quotes", "0.csv", [(1, "a", 1)])
    shop.load()
    fault = FailingSync(log_of("quotes", version=1), 2).installed(monkeypatch)
    for number in range(1, 6):
        shop.drop_events("quotes", f"{number}.csv", [(10 * number + second, "a", 1) for second in (1, 2, 3)])
        shop.load()
    assert len(fault.failed) == 2
    assert booked(shop, "quotes")[:5] == [f"{number}.csv" for number in range(5)]
    if window is None:
        assert in_table(shop, "quotes") == [1]
    else:
        assert in_table(shop, "quotes") == [1, 3, 3, 3, 3]
    assert all(count.faults == () for count in shop.counts().values())
    shop.check()


def test_a_load_that_another_process_came_before_is_done_again(shop: Shop) -> None:
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    first, second = (shop.drop_events("a", f"{number}.csv", [(number, "x", number)]) for number in (2, 3))
    _load_as_another_process(shop, first)
    shop.load()
    assert in_table(shop, "a") == [1, 2, 3]
    assert booked(shop, "a") == ["1.csv", "2.csv", "3.csv"]
    assert second.exists()


def _load_as_another_process(shop: Shop, path: Path) -> None:
    """Commit the next update of table a, with the one row of a file."""
    other = Store(shop.root / "warehouse").table("a", time_column="ts")
    before = other.recover()
    assert before is not None
    assert before.record is not None
    (known,) = loaded(shop, "a")
    again = pa.table({"ts": [2_000_000], "k": ["x"], "v": [2]}).cast(before.schema)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    file = LoadedArrival(position=str(path), digest=sha256, timestamp=known.timestamp, rows=1)
    record = replace(before.record, number=before.number + 1, arrivals=(file,), writer=Writer())
    add = tuple(other.write(again, number=record.number))
    other.commit(Change(record=record, at=time.time(), schema=before.schema, add=add))


def filled(folder: Path, updates: int) -> StoredTable:
    table = opened(folder)
    for number in range(1, updates + 1):
        commit(table, number, rows(number))
    return table


def test_a_compaction_that_landed_though_its_fsync_failed_is_not_merged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(tmp_path / "t", 16)
    FailingSync(log_of("t"), 2).installed(monkeypatch)
    with pytest.raises(DiskError):
        compact(table, at=AT)
    commit(table, 17, rows(17))
    compact(table, at=AT)
    assert values(tmp_path / "t") == list(range(1, 18))
    assert held(table.snapshot) == list(range(1, 18))


def test_a_rollback_that_landed_though_its_fsync_failed_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(tmp_path / "t", 3)
    FailingSync(log_of("t"), 1).installed(monkeypatch)
    table.roll_back(2, at=AT)
    assert held(table.snapshot) == values(tmp_path / "t") == [1, 2]
    commit(table, 3, rows(7))
    assert held(table.snapshot) == values(tmp_path / "t") == [1, 2, 7]


def test_a_column_that_came_with_a_commit_is_known_though_its_fsync_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(tmp_path / "t", 1)
    FailingSync(log_of("t"), 1).installed(monkeypatch)
    commit(table, 2, rows(2, more=["x"]))
    commit(table, 3, rows(3, more=["y"]))
    assert values(tmp_path / "t", "more") == ["x", "y", None]


def test_nothing_is_said_of_a_table_that_cannot_be_read_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(tmp_path / "t", 2)
    fault = FailingSync(lambda path: "_delta_log" in path.parts, 1_000).installed(monkeypatch)
    with pytest.raises(DiskError):
        commit(table, 3, rows(3))
    with pytest.raises(DiskError):
        _ = table.snapshot
    fault.times = 0
    assert table.snapshot is not None
    assert table.snapshot.number == 2, "its entry was not durable, so it was never made visible"
    commit(table, 3, rows(3))
    assert values(tmp_path / "t") == [1, 2, 3]


class Right:
    """The right to write, as a lease grants it."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.is_lost = False

    def require(self) -> None:
        if self.is_lost:
            raise LeaseLostError("gone")


def test_without_the_right_to_write_nothing_is_changed(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 16)
    right = Right(1)
    table.authority = right
    right.is_lost = True
    before = sorted(path.name for path in (tmp_path / "t" / "_delta_log").iterdir())
    attempts: list[Callable[[], object]] = [
        lambda: commit(table, 17, rows(17)),
        lambda: compact(table, at=AT),
        lambda: table.roll_back(3, at=AT),
        table.checkpoint,
        lambda: table.vacuum(3_600.0, at=time.time()),
        lambda: table.fence(2, at=AT),
    ]
    for attempt in attempts:
        with pytest.raises(LeaseLostError):
            attempt()
    assert sorted(path.name for path in (tmp_path / "t" / "_delta_log").iterdir()) == before
    assert values(tmp_path / "t") == list(range(1, 17))


def test_who_wakes_up_after_another_has_taken_over_is_refused_by_the_commit(tmp_path: Path) -> None:
    filled(tmp_path / "t", 2)
    zombie, successor = opened(tmp_path / "t"), opened(tmp_path / "t")
    zombie.authority, successor.authority = Right(1), Right(2)
    successor.fence(2, at=AT)
    for _ in range(2):
        with pytest.raises(LeaseLostError, match="'t'"):
            commit(zombie, 3, rows(33))
    commit(successor, 3, rows(3))
    assert values(tmp_path / "t") == [1, 2, 3]


class Sleepy(Right):
    """A holder that falls asleep when it has just been told that it may write, while others go on."""

    def __init__(self, epoch: int, meanwhile: Callable[[], object]) -> None:
        super().__init__(epoch)
        self._meanwhile = meanwhile

    def require(self) -> None:
        super().require()
        if not self.is_lost:
            self.is_lost = True
            self._meanwhile()


def test_who_sleeps_before_the_first_commit_of_a_table_makes_none_when_it_wakes_up(tmp_path: Path) -> None:
    """A log without entries cannot be fenced by one."""
    successor = Store(tmp_path)
    successor.authority = Right(2)
    zombie = opened(tmp_path / "t")
    zombie.authority = Sleepy(1, lambda: successor.fence(at=AT))
    with pytest.raises(LeaseLostError):
        commit(zombie, 1, rows(11))
    assert not list((tmp_path / "t" / "_delta_log").glob("*.json"))
    commit(successor.table("t"), 1, rows(1))
    assert values(tmp_path / "t") == [1]


def test_a_fence_changes_nothing_but_who_may_write(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    before = table.snapshot
    assert before is not None
    table.fence(7, at=AT)
    table.fence(7, at=AT)
    for snapshot in (table.snapshot, opened(tmp_path / "t").recover()):
        assert snapshot is not None
        assert (snapshot.number, snapshot.version, snapshot.record) == (2, before.version + 1, before.record)
    assert values(tmp_path / "t") == [1, 2]


def test_a_table_that_was_copied_from_elsewhere_can_be_gone_on_with(tmp_path: Path) -> None:
    filled(tmp_path / "t", 2).fence(40, at=AT)
    table = opened(tmp_path / "t")
    table.authority = Right(1)
    table.recover()
    commit(table, 3, rows(3))
    table.open()
    commit(table, 4, rows(4))
    assert values(tmp_path / "t") == [1, 2, 3, 4]


def test_of_two_writers_with_the_same_right_one_is_told_so(tmp_path: Path) -> None:
    first, second = opened(tmp_path / "t"), opened(tmp_path / "t")
    commit(first, 1, rows(1))
    with pytest.raises(ForeignCommitError):
        commit(second, 1, rows(2))
    assert values(tmp_path / "t") == [1]


def test_a_log_of_an_earlier_version_that_names_no_writer_can_be_gone_on_with(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    for path in (tmp_path / "t" / "_delta_log").glob("*.json"):
        text = path.read_text(encoding="utf-8")
        start = text.index(',"writer":')
        path.write_text(text[:start] + text[text.index("]", start) + 1 :], encoding="utf-8")
    table = opened(tmp_path / "t")
    assert table.recover() is not None
    commit(table, 3, rows(3))
    assert values(tmp_path / "t") == [1, 2, 3]
    assert [record for _, record in table.records()] == [update(number, freshness=number) for number in (1, 2, 3)]


@pytest.mark.parametrize("commits", slow_except([40, 200], 40))
def test_an_earlier_version_is_looked_up_while_others_land(tmp_path: Path, commits: int) -> None:
    table = filled(tmp_path / "t", 2)
    stop, wrong = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            try:
                table.as_of(-5)
            except RuntimeError as error:
                wrong.append(error)
                return

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(3, 3 + commits):
        commit(table, number, rows(number))
    stop.set()
    reader.join()
    assert not wrong
