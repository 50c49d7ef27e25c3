"""Logs, checkpoints and files do not grow without end, and what they told is not lost with them."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from freshtide.storage import (
    BEGINNING,
    Change,
    Counts,
    LoadedArrival,
    StorageError,
    Store,
    StoredTable,
    UpdateKind,
    UpdateRecord,
    Writer,
)
from freshtide.storage.housekeeping import prune_log
from tests.storage.tablebench import AT, commit, held, log_files, opened, rows, update, values
from tests.warehouse.shop import Shop, stamp

DAY = 86_400.0


def filled(folder: Path, updates: int) -> StoredTable:
    """Each update loads a file of its number, and replaces what was there."""
    table = opened(folder)
    for number in range(1, updates + 1):
        load(table, number)
    return table


def load(table: StoredTable, number: int, **said: Any) -> None:
    before = table.snapshot.files if table.snapshot is not None else ()
    file = LoadedArrival(position=f"/in/{number}.csv", digest=str(number), timestamp=float(number), rows=2)
    record = replace(update_without_files(number), arrivals=(file,), writer=Writer(), **said)
    files = tuple(table.write(rows(number), number=number))
    table.commit(Change(record=record, at=AT, schema=rows(1).schema, add=files, remove=before))


def update_without_files(number: int) -> UpdateRecord:
    counts = Counts(read=2, loaded=1, rejected=1)
    return replace(update(number, freshness=number), counts=counts)


def grow_old(folder: Path, days: float = 2.0) -> None:
    long_ago = time.time() - days * DAY
    for path in folder.rglob("*"):
        os.utime(path, (long_ago, long_ago))


def prune(table: StoredTable, retention: float = DAY) -> int:
    return prune_log(table.disk, table.logs, table.folder, retention=retention, at=time.time(), least=1)


def pruned(folder: Path, updates: int = 40) -> StoredTable:
    """A table whose log begins in the middle: everything up to half of its updates is gone from it."""
    table = filled(folder, updates // 2)
    table.checkpoint()
    grow_old(folder)
    for number in range(updates // 2 + 1, updates + 1):
        load(table, number)
    prune(table)
    return table


def test_entries_behind_a_checkpoint_go_after_the_retention(tmp_path: Path) -> None:
    table = pruned(tmp_path / "t")
    assert [int(path.stem) for path in log_files(tmp_path / "t")] == list(range(19, 40))
    for snapshot in (table.snapshot, opened(tmp_path / "t").recover()):
        assert snapshot is not None
        assert (snapshot.number, held(snapshot)) == (40, [40])
    assert values(tmp_path / "t") == [40], "others can read it as well"


def test_entries_stay_for_the_retention_and_without_a_checkpoint(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 10)
    grow_old(tmp_path / "t")
    prune(table)
    assert len(log_files(tmp_path / "t")) == 10, "there is no checkpoint"
    table.checkpoint()
    prune(table)
    assert len(log_files(tmp_path / "t")) == 10, "the checkpoint is young, so versions before it are of interest"
    grow_old(tmp_path / "t")
    prune(table, retention=3 * DAY)
    assert len(log_files(tmp_path / "t")) == 10


def test_what_the_updates_said_survives_them(tmp_path: Path) -> None:
    table = pruned(tmp_path / "t")
    again = opened(tmp_path / "t")
    history = again.history()
    assert history is not None
    before = history.before()
    assert (before.version, before.updates) == (18, 19)
    assert before.last == update_without_files(19)
    assert dict(before.counts)["read"] == 38
    assert dict(before.counts)["rejected"] == 19
    assert [(number, file.position) for number, file in history.loaded_before()] == [
        (number, f"/in/{number}.csv") for number in range(1, 20)
    ]
    assert [record.number for _, record in again.records()] == list(range(20, 41))
    assert table.snapshot is not None
    assert again.snapshot is not None
    assert again.snapshot.record == table.snapshot.record


def test_a_lost_catalog_is_rebuilt_though_the_log_is_pruned(shop: Shop) -> None:
    shop.events("a")
    for number in range(1, 5):
        shop.drop("a", f"{number}.csv", f"ts,k,v\n{stamp(number)},x,{number}\n{stamp(number)},x,no number\n")
        shop.load()
    before = shop.bag("a"), shop.counts(), shop.freshness("a")
    for name in ("a", "a__rejects"):
        table = Store(shop.root / "warehouse").table(name)
        table.recover()
        table.checkpoint()
        grow_old(table.folder / "_delta_log")
        prune(table)
        assert len(log_files(table.folder)) == 1
    shop.warehouse.close()
    shop.lose_catalog()
    again = shop.again()
    again.events("a")
    again.load()
    assert (again.bag("a"), again.counts(), again.freshness("a")) == before
    again.drop_events("a", "5.csv", [(5, "x", 5)])
    again.load()
    assert sorted(row["v"] for row in again.rows("a")) == [1, 2, 3, 4, 5]
    again.check()
    again.warehouse.close()


def test_the_ledger_grows_in_parts_and_a_rebuild_begins_it_anew(tmp_path: Path) -> None:
    table = pruned(tmp_path / "t")
    load(table, 41, kind=UpdateKind.REBUILD)
    for number in range(42, 50):
        load(table, number)
    table.checkpoint()
    grow_old(tmp_path / "t")
    prune(table)
    history = table.history()
    assert history is not None
    assert (history.before().updates, history.before().counts["read"]) == (48, 2 * 8)
    assert [number for number, _ in history.loaded_before()] == list(range(41, 49))
    assert history.last() is not None
    assert len(list((tmp_path / "t" / "_ledger").glob("*.json"))) == 2


def test_revisions_and_keys_that_left_are_known_beyond_the_log(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    load(table, 3, revised_from=500)
    load(table, 4, revised_from=700, left=1)
    load(table, 5, revised_from=600)
    load(table, 6)
    expected = [table.revised_since(number) for number in range(7)]
    lost = [table.keys_left_since(number) for number in range(7)]
    assert expected == [500, 500, 500, 600, 600, None, None]
    assert lost == [True, True, True, True, False, False, False]
    table.checkpoint()
    grow_old(tmp_path / "t")
    prune(table)
    again = opened(tmp_path / "t")
    assert [again.revised_since(number) for number in range(7)] == expected
    assert [again.keys_left_since(number) for number in range(7)] == lost
    load(table, 7, revised_from=BEGINNING)
    assert table.revised_since(2) == BEGINNING


def test_a_table_of_a_pruned_log_goes_on_in_every_way(tmp_path: Path) -> None:
    table = pruned(tmp_path / "t")
    assert held(table.after(30)) == [30]
    assert table.after(3) is None, "that is not kept any more"
    table.roll_back(39, at=AT)
    assert values(tmp_path / "t") == [39]
    load(table, 40)
    table.rewrite(add=(), remove=(), at=AT)
    again = opened(tmp_path / "t")
    assert again.recover() is not None
    load(again, 41)
    assert held(again.snapshot) == values(tmp_path / "t") == [41]


@pytest.mark.parametrize("how", ["half", "empty", "missing"])
def test_a_torn_checkpoint_of_a_pruned_log_is_passed_over_for_an_older_one(tmp_path: Path, how: str) -> None:
    table = pruned(tmp_path / "t")
    table.checkpoint()
    load(table, 41)
    newest = max((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))
    content = newest.read_bytes()
    newest.unlink() if how == "missing" else newest.write_bytes(content[: len(content) // 2 if how == "half" else 0])
    assert held(opened(tmp_path / "t").recover()) == [41]
    assert values(tmp_path / "t") == [41]


def test_the_only_checkpoint_of_a_pruned_log_is_not_dropped(tmp_path: Path) -> None:
    pruned(tmp_path / "t")
    (only,) = (tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet")
    whole = only.read_bytes()
    only.write_bytes(whole[:100])
    with pytest.raises(StorageError) as caught:
        opened(tmp_path / "t")
    assert "move it away" in str(caught.value)
    only.write_bytes(whole)
    assert held(opened(tmp_path / "t").snapshot) == [40]


def test_nothing_is_removed_behind_a_checkpoint_that_cannot_be_read(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 10)
    table.checkpoint()
    (only,) = (tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet")
    only.write_bytes(only.read_bytes()[:100])
    grow_old(tmp_path / "t")
    with pytest.raises(pa.ArrowInvalid):
        prune(table)
    assert len(log_files(tmp_path / "t")) == 10


def test_removing_entries_can_be_cut_off_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(tmp_path / "t", 20)
    table.checkpoint()
    grow_old(tmp_path / "t")
    real, left = os.unlink, [7]

    def unlink(path: Path) -> None:
        if path.suffix == ".json" and not left[0]:
            raise KeyboardInterrupt
        left[0] -= path.suffix == ".json"
        real(path)

    with monkeypatch.context() as cut:
        cut.setattr(os, "unlink", unlink)
        with pytest.raises(KeyboardInterrupt):
            prune(table)
    again = opened(tmp_path / "t")
    assert again.recover() is not None
    prune(again)
    load(again, 21)
    history = again.history()
    assert history is not None
    assert (history.before().updates, [record.number for _, record in again.records()]) == (19, [20, 21])
    assert [number for number, _ in history.loaded_before()] == list(range(1, 20))
    assert values(tmp_path / "t") == [21]


def test_checkpoints_are_few_however_many_were_written(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 1)
    for number in range(2, 30):
        load(table, number)
        table.checkpoint()
    prune(table)
    assert len(list((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))) == 3
    assert held(table.after(12)) == [12]


def test_files_that_left_the_table_long_ago_go_though_no_log_tells_of_them(tmp_path: Path) -> None:
    """A checkpoint forgets after a week what was removed; a table that is updated once a day has it all by then."""
    table = opened(tmp_path / "t")
    now = time.time()
    for day in range(20, 0, -1):
        number = 21 - day
        before = table.snapshot.files if table.snapshot is not None else ()
        files = tuple(table.write(rows(number), number=number))
        os.utime(tmp_path / "t" / files[0].path, (now - day * DAY,) * 2)
        record = update(number, freshness=number)
        table.commit(Change(record=record, at=now - (day - 0.5) * DAY, schema=rows(1).schema, add=files, remove=before))
    table.checkpoint()
    again = opened(tmp_path / "t")
    again.keep_house(DAY, at=now)
    left = {path.name.split("-")[1] for path in (tmp_path / "t").glob("*.parquet")}
    assert left == {"00000019", "00000020"}, "the one before the last was removed half a day ago"
    assert values(tmp_path / "t") == [20]


def test_what_was_never_committed_goes_after_a_day_and_not_before(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    old, young = (table.write(rows(9), number=3)[0].path for _ in range(2))
    old_staging, young_staging = table.staging(3), table.staging(3)
    for staging in (old_staging, young_staging):
        (staging / "_temporary").mkdir(parents=True)
        pq.write_table(rows(9), staging / "_temporary" / "part.parquet")
    long_ago = time.time() - 2 * DAY
    for path in (tmp_path / "t" / old, old_staging, *old_staging.rglob("*")):
        os.utime(path, (long_ago, long_ago))
    os.utime(young_staging, (long_ago, long_ago))
    table.vacuum(3_600.0, at=time.time())
    assert not (tmp_path / "t" / old).exists()
    assert not old_staging.exists()
    assert (tmp_path / "t" / young).exists()
    assert young_staging.exists(), "Spark is writing into it"


def test_a_live_file_is_never_swept_however_old(tmp_path: Path) -> None:
    table = opened(tmp_path / "t")
    commit(table, 1, rows(1, 2, kind=["a b/%c", "ü"]), by=("kind",))
    commit(table, 2, rows(3, kind=["a b/%c"]), by=("kind",))
    grow_old(tmp_path / "t", days=400)
    table.vacuum(3_600.0, at=time.time())
    assert values(tmp_path / "t") == [1, 2, 3]


def test_housekeeping_keeps_the_log_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freshtide.storage.housekeeping.LEAST_PRUNED", 50)
    table = opened(tmp_path / "t")
    for number in range(1, 301):
        load(table, number)
        if number % 30 == 0:
            grow_old(tmp_path / "t" / "_delta_log")
        table.keep_house(DAY, at=time.time())
    assert len(log_files(tmp_path / "t")) < 150
    assert len(list((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))) <= 4
    again = Store(tmp_path).table("t", time_column="time")
    assert held(again.snapshot) == [300]
    assert DeltaTable(tmp_path / "t").version() == 299
