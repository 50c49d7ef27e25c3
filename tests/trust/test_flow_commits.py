"""The targets of a flow that is interrupted, or that the disk has no room for: in the end all of them, each once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from freshtide import Flow
from freshtide.core.errors import SurroundingsError
from freshtide.spark import SparkSession
from freshtide.storage import Change, Snapshot, StoredTable
from tests.warehouse.shop import Shop
from tests.warehouse.test_flow_loads import declare, keyed, keys_in_files, priced

_RUN = """
import sys
from pathlib import Path
from freshtide.spark import start_session
from tests.warehouse.shop import Shop
from tests.warehouse.test_flow_loads import declare, priced

shop = Shop(Path(sys.argv[1]), start_session({"spark.master": "local[1]"}))
declare(shop, priced())
shop.load()
"""


def run_and_die(shop: Shop, point: str) -> None:
    """Load what is there in another process, which is killed when it comes to a point."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FRESHTIDE_CRASH_AT": point}
    died = subprocess.run([sys.executable, "-c", _RUN, str(shop.root)], env=environment, check=False)
    assert died.returncode == -9


@pytest.mark.slow
@pytest.mark.parametrize("point", ["flow-journal:1", "flow-committed:1", "flow-landed:1"])
def test_a_flow_that_is_killed_lands_whole_even_if_somebody_has_taken_a_file_of_it(shop: Shop, point: str) -> None:
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", "")])
    run_and_die(shop, point)
    taken = 0
    for file in (shop.root / "out" / "keys").glob("*.parquet"):
        file.unlink()
        taken += 1
    assert bool(taken) == (point == "flow-landed:1")

    declare(shop, priced())
    shop.load()
    assert keyed(shop, "sales") == {"a": 1}
    assert keyed(shop, "unpriced") == {"b": 1}
    assert shop.freshness("sales") == 2
    assert not list(shop.root.glob("warehouse/_freshtide/flows/*/journal.json"))
    if not taken:
        assert keys_in_files(shop) == {"a": 1}
    shop.check()


def no_room_at_first(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    """The disk is full from the first commit of a table to the second: it is not committed, nor another rolled back."""
    commit, roll_back = StoredTable.commit, StoredTable.roll_back
    tries = 0

    def require_room() -> None:
        if tries == 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    def committed(table: StoredTable, change: Change) -> Snapshot:
        nonlocal tries
        if table.name == wanted:
            tries += 1
            require_room()
        return commit(table, change)

    def rolled_back(table: StoredTable, number: int, *, at: float) -> None:
        require_room()
        roll_back(table, number, at=at)

    monkeypatch.setattr(StoredTable, "commit", committed)
    monkeypatch.setattr(StoredTable, "roll_back", rolled_back)


def test_what_a_full_disk_cuts_short_is_finished_by_the_next_try_and_nothing_is_there_twice(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 2, "backoff": "10ms"})
    declare(shop, priced())
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", "")])
    shop.load()
    shop.drop_events("sales", "2.csv", [(3, "c", 3), (4, "d", "")])
    no_room_at_first(monkeypatch, "sales")
    shop.load()
    loaded = Counter({"a": 1, "c": 1})
    assert (keyed(shop, "sales"), keys_in_files(shop)) == (loaded, loaded)
    assert keyed(shop, "unpriced") == {"b": 1, "d": 1}
    assert shop.freshness("sales") == 4
    shop.drop_events("sales", "3.csv", [(5, "e", 5)])
    shop.load()
    assert keyed(shop, "sales") == loaded + Counter({"e": 1})
    shop.check()
    shop.warehouse.close()


def test_a_flow_run_by_hand_that_a_full_disk_cuts_short_is_finished_before_the_next(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = Flow("copies")
    events = flow.read(table="sales")
    for name in ("first", "second"):
        events.write(table=name, mode="append")
    shop.events("sales")
    shop.warehouse.flow(flow)
    shop.drop_events("sales", "1.csv", [(1, "a", 1)])
    shop.load()
    no_room_at_first(monkeypatch, "second")
    with pytest.raises(SurroundingsError, match=r"'copies' are committed in part: .*No space left"):
        shop.warehouse.run_flow("copies")
    shop.load()
    assert keyed(shop, "first") == keyed(shop, "second") == {"a": 1}, "the next start has finished it"


def test_files_of_a_flow_and_their_names_are_on_disk_before_it_is_decided(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append(str(path.relative_to(shop.root)) if path.is_relative_to(shop.root) else str(path))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    declare(shop, priced())
    shop.drop_events("sales", "1.csv", [(1, "a", 1)])
    shop.load()
    (journal,) = [path for path in synced if path.endswith("/journal.partial")]
    assert journal.startswith("warehouse/_freshtide/flows/priced")
    decided = synced.index(journal)
    before, after = synced[:decided], synced[decided:]
    assert any(path.startswith("out/.keys.staged/part-") for path in before), "the content"
    assert {"out/.keys.staged", "out", "."} <= set(before), "the names of files, of their folder and of the one above"
    assert {"warehouse/_freshtide", "warehouse/_freshtide/flows"} <= set(before), (
        "the names of the folders that the journal is in"
    )
    assert "out/keys" in after
