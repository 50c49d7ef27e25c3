"""Files that are away, put aside or late by no fault of their own: nothing is skipped, doubled or called late."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from freshtide.core.arrivals import ArrivalState
from freshtide.core.errors import FreshtideError
from freshtide.observe import explain
from freshtide.world import OsDisk, StrPath
from tests.waiting import or_too_late
from tests.warehouse.shop import Shop


def values(shop: Shop, table: str) -> list[Any]:
    return sorted(row["v"] for row in shop.rows(table))


def away(shop: Shop) -> list[str]:
    (feed,) = shop.warehouse.status().feeds
    return [Path(file.position).name for file in feed.troubled if file.state is ArrivalState.AWAY]


def paused_with_three_files(shop: Shop, **settings: Any) -> Path:
    """Three files wait for a table that is paused; their folder."""
    shop.events("a", **settings)
    shop.drop_events("a", "0.csv", [(1, "x", 0)])
    shop.load()
    shop.warehouse.pause("a")
    for number in (1, 2, 3):
        shop.drop_events("a", f"{number}.csv", [(100 * number, "x", number)])
    shop.load()
    return shop.root / "landing" / "a"


def test_a_folder_that_is_away_holds_its_table_back_and_nothing_is_skipped_or_late(shop: Shop) -> None:
    folder = paused_with_three_files(shop, lateness="5s")
    hidden = folder.rename(shop.root / "unmounted")
    shop.warehouse.resume("a")
    shop.load()
    assert values(shop, "a") == [0]
    assert shop.freshness("a") == 1
    assert "1.csv" in away(shop)
    hidden.rename(folder)
    shop.drop_events("a", "9.csv", [(900, "x", 9)])
    shop.load()
    assert values(shop, "a") == [0, 1, 2, 3, 9]
    assert shop.rows("a__late") == []
    assert away(shop) == []
    shop.check()


def test_freshness_does_not_pass_by_a_file_that_is_away(shop: Shop) -> None:
    folder = paused_with_three_files(shop)
    (folder / "2.csv").rename(shop.root / "2.csv")
    shop.warehouse.resume("a")
    shop.load()
    assert values(shop, "a") == [0, 1]
    assert shop.freshness("a") == 100
    bench = shop.warehouse.workbench
    told = explain(shop.warehouse.project, bench.catalog, "a", bench.clock.now(), run_going_on=False).sentences
    assert any("waits for" in sentence and "2.csv, which is away" in sentence for sentence in told)
    assert shop.warehouse.status().tables[0].waits_for == str(folder / "2.csv")


def test_a_run_goes_on_by_itself_when_a_file_is_back(shop: Shop) -> None:
    folder = paused_with_three_files(shop)
    # The last one: after an earlier one the next update would find it by chance.
    hidden = (folder / "3.csv").rename(shop.root / "3.csv")
    shop.warehouse.resume("a")
    stop = threading.Event()

    def put_back_once_it_is_missed() -> bool:
        if hidden.exists() and away(shop):
            hidden.rename(folder / "3.csv")
        return len(shop.rows("a")) == 4

    shop.warehouse.run(stop=stop, until=or_too_late(put_back_once_it_is_missed))
    assert values(shop, "a") == [0, 1, 2, 3]
    assert shop.freshness("a") == 300


def test_a_file_that_is_away_is_left_out_only_when_the_user_says_so(shop: Shop) -> None:
    folder = paused_with_three_files(shop)
    hidden = (folder / "1.csv").rename(shop.root / "1.csv")
    shop.warehouse.resume("a")
    shop.load()
    with pytest.raises(FreshtideError, match="No table waits for"):
        shop.warehouse.skip_file(str(folder / "2.csv"))
    assert "is skipped" in shop.warehouse.skip_file(str(folder / "1.csv"))
    shop.load()
    assert values(shop, "a") == [0, 2, 3]
    hidden.rename(folder / "1.csv")
    shop.load()
    assert values(shop, "a") == [0, 2, 3]
    shop.warehouse.retry_file(str(folder / "1.csv"))
    shop.load()
    assert values(shop, "a") == [0, 1, 2, 3]
    shop.check()


def test_a_disk_that_does_not_answer_is_not_the_fault_of_its_files(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = paused_with_three_files(shop)
    real = OsDisk.look

    def failing(disk: OsDisk, path: StrPath) -> os.stat_result:
        if Path(path).parent == folder and Path(path).suffix == ".csv":
            raise OSError(errno.EIO, "Input/output error", str(path))
        return real(disk, path)

    with monkeypatch.context() as broken:
        broken.setattr(OsDisk, "look", failing)
        shop.warehouse.resume("a")
        updates = shop.warehouse.workbench.catalog.updates
        shop.warehouse.run(until=or_too_late(lambda: bool(updates.recent("a", 5)[0].error)))
    (feed,) = shop.warehouse.status().feeds
    assert feed.troubled == ()
    later = shop.again()
    later.events("a")
    later.warehouse.resume("a")
    later.load()
    assert values(later, "a") == [0, 1, 2, 3]


def test_an_update_table_waits_for_a_file_that_is_away(shop: Shop) -> None:
    shop.events("q", properties="TBLPROPERTIES ('update_key'='k')")
    shop.drop_events("q", "0.csv", [(1, "x", 0)])
    shop.load()
    shop.warehouse.pause("q")
    for number in (1, 2):
        shop.drop_events("q", f"{number}.csv", [(100 * number, f"k{number}", number)])
    shop.load()
    folder = shop.root / "landing" / "q"
    hidden = (folder / "1.csv").rename(shop.root / "1.csv")
    shop.warehouse.resume("q")
    shop.load()
    assert values(shop, "q") == [0]
    hidden.rename(folder / "1.csv")
    shop.load()
    assert values(shop, "q") == [0, 1, 2]


def two_tables_of_a_feed(shop: Shop, **settings: Any) -> Path:
    """One table has loaded a file, the other is paused; the file."""
    shop.events("a", **settings)
    shop.warehouse.sql("CREATE STREAMING TABLE b AS SELECT * FROM STREAM a_feed")
    shop.drop_events("a", "0.csv", [(1, "x", 0)])
    shop.load()
    shop.warehouse.pause("b")
    path = shop.drop_events("a", "1.csv", [(2, "x", 1)])
    shop.load()
    return path


def test_a_file_that_one_table_has_loaded_is_retried_for_the_others_only(shop: Shop) -> None:
    path = two_tables_of_a_feed(shop)
    files = shop.warehouse.workbench.catalog.arrivals
    known = files.by_path("a_feed", str(path))
    assert known is not None
    files.set_state(known.id, ArrivalState.QUARANTINED, "Spark could not read it for b")
    shop.warehouse.retry_file(str(path))
    shop.warehouse.resume("b")
    shop.load()
    assert values(shop, "a") == values(shop, "b") == [0, 1]
    shop.check()


def test_a_file_gone_between_two_tables_and_put_back_is_in_each_once(shop: Shop) -> None:
    path = two_tables_of_a_feed(shop)
    hidden = path.rename(shop.root / "hidden")
    shop.warehouse.resume("b")
    shop.load()
    assert (values(shop, "a"), values(shop, "b")) == ([0, 1], [0])
    hidden.rename(path)
    shop.load()
    assert values(shop, "a") == values(shop, "b") == [0, 1]
    shop.check()


def test_rows_of_a_file_that_was_mended_are_not_late_for_having_been_put_aside(shop: Shop) -> None:
    shop.events("a", punctuation="*.mark")
    shop.view("minutes", "SELECT date_trunc('MINUTE', ts) AS ts, sum(v) AS v FROM a GROUP BY 1", time_column="ts")
    torn = shop.drop("a", "1.csv", b"ts,k,v\n\xff")
    shop.drop_events("a", "2.csv", [(20, "y", 2), (70, "y", 3)])
    shop.drop("a", "p.mark", "2026-01-01T00:10:00Z")
    shop.load()
    assert values(shop, "a") == [2, 3]
    torn.write_text("ts,k,v\n2026-01-01T00:00:10Z,x,1\n")
    shop.warehouse.retry_file(str(torn))
    shop.drop_events("a", "late.csv", [(30, "late", 9), (900, "new", 4)])
    shop.load()
    assert values(shop, "a") == [1, 2, 3, 4]
    assert [row["k"] for row in shop.rows("a__late")] == ["late"], "it came after the promise"
    assert sorted(row["v"] for row in shop.rows("minutes"))[:2] == [3, 3], "the view was told of rows in its past"
    shop.check()


def test_rows_of_a_file_that_was_mended_are_held_to_the_lateness_of_their_arrival(shop: Shop) -> None:
    shop.events("a", lateness="5s")
    shop.drop_events("a", "0.csv", [(100, "x", 0)])
    shop.load()
    torn = shop.drop("a", "1.csv", b"ts,k,v\n\xff")
    shop.load()
    shop.drop_events("a", "2.csv", [(500, "y", 2)])
    shop.load()
    torn.write_text("ts,k,v\n2026-01-01T00:01:50Z,x,1\n2026-01-01T00:01:30Z,late,9\n")
    shop.warehouse.retry_file(str(torn))
    shop.load()
    assert values(shop, "a") == [0, 1, 2]
    assert [row["k"] for row in shop.rows("a__late")] == ["late"], "it was late when it came"
    shop.check()
