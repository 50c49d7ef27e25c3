"""Files whose content was changed: never taken silently, and taken everywhere when the user says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from freshtide.core.arrivals import ArrivalState
from freshtide.core.errors import FreshtideError
from freshtide.feeds import accept_everywhere
from tests.warehouse.shop import Shop, stamp


def totals(shop: Shop) -> dict[str, int]:
    return {row["k"]: row["v"] for row in shop.rows("totals")}


def with_a_view(shop: Shop) -> Path:
    """Two files are loaded, and a view sums them up; the first file."""
    shop.events("a")
    shop.view("totals", "SELECT k, sum(v) AS v FROM a GROUP BY k")
    first = shop.drop_events("a", "1.csv", [(1, "x", 10), (2, "y", 20)])
    shop.drop_events("a", "2.csv", [(3, "x", 30)])
    shop.load()
    return first


def rewrite(path: Path, *rows: tuple[int, str, int]) -> None:
    lines = [f"{stamp(second)},{key},{value}" for second, key, value in rows]
    path.write_text("\n".join(["ts,k,v", *lines]) + "\n")


def test_a_backfill_does_not_take_content_that_was_refused(shop: Shop) -> None:
    first = with_a_view(shop)
    before = shop.bag("a")
    rewrite(first, (1, "x", 11), (2, "y", 20), (2, "z", 5))
    shop.load()
    with pytest.raises(FreshtideError, match=r"1\.csv, which has changed.*freshtide feeds accept"):
        shop.warehouse.backfill("a")
    assert shop.bag("a") == before
    shop.load()
    shop.check()


def test_a_backfill_looks_at_the_content_and_not_at_the_time_of_a_file(shop: Shop) -> None:
    first = with_a_view(shop)
    seen = first.stat()
    first.write_text(first.read_text().replace("x,10", "x,99"))
    os.utime(first, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    with pytest.raises(FreshtideError, match=r"1\.csv, which has changed"):
        shop.warehouse.backfill("a")
    assert totals(shop) == {"x": 40, "y": 20}


def test_a_backfill_for_which_a_file_is_away_leaves_the_table_as_it_is(shop: Shop) -> None:
    first = with_a_view(shop)
    first.rename(shop.root / "away")
    with pytest.raises(FreshtideError, match=r"1\.csv, which is away"):
        shop.warehouse.backfill("a")
    assert shop.warehouse.status().tables[0].status == "active"
    assert totals(shop) == {"x": 40, "y": 20}


def test_a_duplicate_is_loaded_when_nothing_else_holds_its_content_any_more(shop: Shop) -> None:
    first = with_a_view(shop)
    copy = first.with_name("copy.csv")
    copy.write_text(first.read_text())
    shop.load()
    assert totals(shop) == {"x": 40, "y": 20}
    rewrite(first, (1, "x", 11))
    shop.load()
    shop.warehouse.accept_file(str(first))
    assert totals(shop) == {"x": 41}, "the old content is out before it comes in again"
    shop.load()
    assert totals(shop) == {"x": 51, "y": 20}
    shop.load()
    assert totals(shop) == {"x": 51, "y": 20}
    shop.check()


def test_a_duplicate_of_a_file_that_was_changed_before_it_was_loaded_takes_its_place(shop: Shop) -> None:
    first = with_a_view(shop)
    shop.warehouse.pause("a")
    waiting = shop.drop_events("a", "3.csv", [(4, "w", 1)])
    shop.load()
    waiting.with_name("copy.csv").write_text(waiting.read_text())
    shop.load()
    rewrite(waiting, (5, "v", 2))
    shop.warehouse.resume("a")
    shop.load()
    shop.load()
    assert first.exists()
    assert totals(shop) == {"x": 40, "y": 20, "w": 1}


@pytest.mark.parametrize("keeps_its_time", [False, True])
@pytest.mark.parametrize("is_seen_changed", [False, True])
def test_a_file_that_was_changed_before_it_was_loaded_is_loaded_when_its_content_is_put_back(
    shop: Shop, keeps_its_time: bool, is_seen_changed: bool
) -> None:
    with_a_view(shop)
    shop.warehouse.pause("a")
    waiting = shop.drop_events("a", "3.csv", [(4, "w", 1)])
    shop.load()
    arrived, seen = waiting.read_text(), waiting.stat()
    rewrite(waiting, (5, "v", 2))
    if not is_seen_changed:
        os.utime(waiting, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    shop.warehouse.resume("a")
    for _ in range(2):
        shop.load()
        assert totals(shop) == {"x": 40, "y": 20}, "new content is not taken by itself"
        told = shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED, ArrivalState.REFUSED)
        assert [file.position for file in told] == [str(waiting)], "it is told of once"
    waiting.write_text(arrived)
    if keeps_its_time:
        os.utime(waiting, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    shop.load()
    assert totals(shop) == {"x": 40, "y": 20, "w": 1}
    assert not shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED, ArrivalState.REFUSED)
    shop.check()


def test_content_that_cannot_be_accepted_is_mended_and_accepted(shop: Shop) -> None:
    first = with_a_view(shop)
    first.write_text("ts,k,other\n")
    shop.load()
    with pytest.raises(FreshtideError, match="freshtide feeds accept") as told:
        shop.warehouse.accept_file(str(first))
    assert "feeds retry" not in str(told.value)
    rewrite(first, (1, "x", 1))
    shop.warehouse.accept_file(str(first))
    assert totals(shop) == {"x": 31}


def test_accepted_content_replaces_the_old_in_the_table_and_in_all_views(shop: Shop) -> None:
    first = with_a_view(shop)
    rewrite(first, (1, "x", 11), (2, "y", 20), (2, "z", 5))
    shop.load()
    (refused,) = shop.warehouse.status().feeds[0].troubled
    assert refused.state is ArrivalState.REFUSED
    assert "freshtide feeds accept" in (refused.reason or "")
    told = shop.warehouse.accept_file(str(first))
    assert "'a' has been rebuilt, and so has all that depends on it: 'totals'" in told
    assert totals(shop) == {"x": 41, "y": 20, "z": 5}
    assert len(shop.rows("a")) == 4
    assert shop.warehouse.status().feeds[0].troubled == ()
    shop.load()
    shop.check()
    with pytest.raises(FreshtideError, match="is not refused"):
        shop.warehouse.accept_file(str(first))
    shop.warehouse.backfill("a")
    shop.check()


def test_content_that_cannot_be_read_is_not_accepted(shop: Shop) -> None:
    first = with_a_view(shop)
    first.write_bytes(b"ts,k,v\n\xff")
    shop.load()
    with pytest.raises(FreshtideError, match="not valid utf-8"):
        shop.warehouse.accept_file(str(first))
    assert totals(shop) == {"x": 40, "y": 20}
    shop.check()


def test_a_run_that_ended_before_accepted_content_was_loaded_is_made_up_for(shop: Shop) -> None:
    first = with_a_view(shop)
    rewrite(first, (1, "x", 11))
    files = shop.warehouse.workbench.catalog.arrivals
    shop.load()
    (refused,) = files.in_state(ArrivalState.REFUSED)
    known = files.by_path("a_feed", str(first))
    assert known is not None
    shop.warehouse.close()
    later = shop.again()
    later.events("a")
    later.view("totals", "SELECT k, sum(v) AS v FROM a GROUP BY k")
    bench = later.warehouse.workbench
    accepted = accept_everywhere(str(first), later.warehouse.project.feeds, bench.catalog.arrivals, bench.clock.now())
    assert [file.digest for file in accepted] == [refused.digest]
    bench.catalog.arrivals.register_all([(file, ("a",)) for file in accepted])
    later.load()
    assert totals(later) == {"x": 41}
    later.check()


def test_a_file_that_changes_before_it_is_loaded_is_listed_once_with_one_way_out(shop: Shop) -> None:
    shop.events("a")
    shop.drop_events("a", "0.csv", [(1, "x", 1)])
    shop.load()
    shop.warehouse.pause("a")
    path = shop.drop_events("a", "1.csv", [(2, "x", 2)])
    shop.load()
    rewrite(path, (2, "x", 3))
    shop.load()
    shop.warehouse.resume("a")
    shop.load()
    (listed,) = shop.warehouse.status().feeds[0].troubled
    assert "freshtide feeds accept" in (listed.reason or "")
    assert "retry" not in (listed.reason or "")
    shop.warehouse.accept_file(str(path))
    shop.load()
    assert sorted(row["v"] for row in shop.rows("a")) == [1, 3]
    assert shop.warehouse.status().feeds[0].troubled == ()
    shop.check()


def test_a_refusal_is_over_when_the_file_is_what_it_was(shop: Shop) -> None:
    first = with_a_view(shop)
    content = first.read_text()
    rewrite(first, (1, "x", 11))
    shop.load()
    assert shop.warehouse.status().feeds[0].troubled
    first.write_text(content)
    shop.load()
    assert shop.warehouse.status().feeds[0].troubled == ()
    assert totals(shop) == {"x": 40, "y": 20}


def test_an_update_table_takes_accepted_content_too(shop: Shop) -> None:
    shop.events("q", properties="TBLPROPERTIES ('update_key'='k')")
    path = shop.drop_events("q", "1.csv", [(1, "x", 1), (2, "y", 2)])
    shop.load()
    rewrite(path, (1, "x", 5))
    shop.load()
    shop.warehouse.accept_file(str(path))
    assert {row["k"]: row["v"] for row in shop.rows("q")} == {"x": 5}
