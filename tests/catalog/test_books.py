"""Tables, updates, requests and the lock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshtide.catalog import (
    Catalog,
    LatestStreamRow,
    RequestKind,
    TableRow,
    UpdateEnd,
    UpdateRow,
    UpdateStatus,
)
from freshtide.catalog.catalog import CatalogError
from freshtide.catalog.updates import _ENDED_SINCE
from freshtide.catalog.urls import CatalogUrlError
from freshtide.core.costs import CostModel

from .arrivals import a_file

FULL = TableRow(
    name="cpu",
    status="failed",
    reason="disk full",
    number=7,
    version=9,
    freshness=1_777_000_000.123456,
    safe=-1.5,
    definition="abc",
    cost=CostModel.learnt_from([(10.0, 1.0), (20.0, 2.5)]),
    counts={"read": 10, "loaded": 9},
)


def an_update(table: str = "cpu", number: int = 1, started_at: float = 100.0, **changes: object) -> UpdateRow:
    row = UpdateRow(
        table=table,
        number=number,
        kind="load",
        track=0,
        status=UpdateStatus.RUNNING,
        started_at=started_at,
        upto=90.0,
    )
    return replace(row, **changes)  # type: ignore[arg-type]  # the tests know the fields


def test_a_table_row_comes_back_as_it_was_put(catalog: Catalog) -> None:
    catalog.tables.put(FULL)
    assert catalog.tables.get("cpu") == FULL
    assert catalog.tables.all() == {"cpu": FULL}


def test_putting_a_row_again_replaces_it(catalog: Catalog) -> None:
    catalog.tables.put(FULL)
    changed = replace(FULL, number=8, freshness=None, reason=None, counts={})
    catalog.tables.put(changed)
    catalog.tables.put(changed)
    assert catalog.tables.all() == {"cpu": changed}


def test_a_table_without_a_row_is_new(catalog: Catalog) -> None:
    assert catalog.tables.get("cpu") == TableRow(name="cpu")
    assert catalog.tables.all() == {}


def test_how_an_update_stream_stands_is_kept_by_table(catalog: Catalog) -> None:
    standing = LatestStreamRow(pending_since=12.5, residents=3, superseded=2**40, rejected=1)
    catalog.streams.put("quotes", LatestStreamRow())
    catalog.streams.put("quotes", standing)
    catalog.streams.put("offers", replace(standing, pending_since=None))
    assert catalog.streams.all() == {"quotes": standing, "offers": replace(standing, pending_since=None)}
    catalog.streams.forget_all_but(["quotes"])
    assert catalog.streams.all() == {"quotes": standing}


def test_a_status_is_set_without_touching_the_rest(catalog: Catalog) -> None:
    catalog.tables.put(FULL)
    catalog.tables.set_status("cpu", "paused")
    assert catalog.tables.get("cpu") == replace(FULL, status="paused", reason=None)
    catalog.tables.set_status("cpu", "failed", "again")
    assert catalog.tables.get("cpu") == replace(FULL, reason="again")


def test_tables_that_are_no_longer_declared_are_forgotten(catalog: Catalog) -> None:
    for name in ("a", "b", "c"):
        catalog.tables.put(TableRow(name=name))
    catalog.tables.forget_all_but(["b", "x"])
    assert set(catalog.tables.all()) == {"b"}
    catalog.tables.forget_all_but([])
    assert catalog.tables.all() == {}


def test_an_update_is_running_until_it_has_ended_well_or_badly(catalog: Catalog) -> None:
    good, bad = catalog.updates.start(an_update()), catalog.updates.start(an_update("disk"))
    assert {row.table for row in catalog.updates.running()} == {"cpu", "disk"}
    catalog.updates.finish(good, at=103.5, freshness=90.0, rows=12)
    catalog.updates.fail(bad, at=101.0, error="disk full")
    assert catalog.updates.running() == []
    (done,) = catalog.updates.recent("cpu")
    assert (done.status, done.seconds, done.freshness, done.rows) == (UpdateStatus.DONE, 3.5, 90.0, 12)
    (failed,) = catalog.updates.recent("disk")
    assert (failed.status, failed.seconds, failed.error) == (UpdateStatus.FAILED, 1.0, "disk full")


def test_an_update_keeps_the_decision_behind_it(catalog: Catalog) -> None:
    decision = {"ordering": "fifo", "benefit": 2.5, "runners_up": [{"table": "disk", "benefit": 1.0}]}
    number = catalog.updates.start(an_update(decision=decision, from_freshness=80.0, kind="rebuild", track=3))
    (row,) = catalog.updates.running()
    assert row == an_update(decision=decision, from_freshness=80.0, kind="rebuild", track=3, id=number)
    assert row.seconds is None


def test_the_newest_updates_of_a_table_come_first(catalog: Catalog) -> None:
    for number in range(1, 8):
        catalog.updates.start(an_update(number=number, started_at=1_000.0 - number))
        catalog.updates.start(an_update("disk", number=number))
    assert [row.number for row in catalog.updates.recent("cpu", 3)] == [7, 6, 5]
    assert catalog.updates.recent("nobody") == []


def test_what_ran_when_a_process_died_was_interrupted(catalog: Catalog) -> None:
    finished = catalog.updates.start(an_update())
    catalog.updates.finish(finished, at=101.0, freshness=1.0, rows=1)
    catalog.updates.start(an_update(number=2))
    catalog.updates.interrupt_running(200.0)
    assert catalog.updates.running() == []
    newest, oldest = catalog.updates.recent("cpu")
    assert (newest.status, newest.finished_at) == (UpdateStatus.INTERRUPTED, 200.0)
    assert (oldest.status, oldest.finished_at) == (UpdateStatus.DONE, 101.0)


def test_no_update_ends_before_it_began_though_the_clock_was_set_back_since(catalog: Catalog) -> None:
    catalog.updates.start(an_update(started_at=100.0))
    catalog.updates.start(an_update("disk", started_at=10.0))
    catalog.updates.interrupt_running(20.0)
    took = {name: catalog.updates.recent(name)[0].seconds for name in ("cpu", "disk")}
    assert took == {"cpu": 0.0, "disk": 10.0}


def test_what_may_have_moved_tables_lately_is_told_in_the_order_of_its_end(catalog: Catalog) -> None:
    for at, table in ((50.0, "cpu"), (110.0, "cpu"), (105.0, "disk")):
        number = catalog.updates.start(an_update(table, started_at=at - 1.0, from_freshness=at - 20.0))
        catalog.updates.finish(number, at=at, freshness=at - 10.0, rows=1)
    catalog.updates.fail(catalog.updates.start(an_update("bad")), at=120.0, error="disk full")
    catalog.updates.start(an_update("cpu", started_at=111.0, from_freshness=100.0))
    catalog.updates.interrupt_running(115.0)
    catalog.updates.start(an_update("cpu", started_at=116.0))
    assert catalog.updates.ended_since(100.0) == [
        UpdateEnd("disk", 105.0, 85.0, 95.0, is_done=True),
        UpdateEnd("cpu", 110.0, 90.0, 100.0, is_done=True),
        UpdateEnd("cpu", 115.0, 100.0, None, is_done=False),
    ]


def test_what_ended_lately_is_found_without_looking_at_what_ended_before() -> None:
    catalog = Catalog.open("sqlite://")
    question = _ENDED_SINCE.params(moment=0.0).compile(catalog._engine, compile_kwargs={"literal_binds": True})
    with catalog._engine.connect() as connection:
        told = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {question}")]
    assert "updates_by_end (status=? AND finished_at>?)" in told[0]
    catalog.close()


def test_failures_are_counted_beside_what_updates_write(catalog: Catalog) -> None:
    catalog.tables.put(replace(FULL, updates=3, failures=1, busy=9.0))
    row = catalog.tables.get("cpu")
    catalog.tables.count_failure("cpu")
    catalog.tables.advance(replace(row, updates=4, busy=10.5))
    catalog.tables.count_failure("cpu")
    found = catalog.tables.get("cpu")
    assert (found.updates, found.failures, found.busy) == (4, 3, 10.5)


def test_the_history_before_a_moment_can_be_forgotten(catalog: Catalog) -> None:
    for at in (110.0, 120.0, 130.0):
        catalog.updates.finish(catalog.updates.start(an_update(number=int(at))), at=at, freshness=at, rows=1)
    catalog.updates.start(an_update(number=1))
    catalog.prune(120.0 + 7 * 86_400.0)
    assert [row.number for row in catalog.updates.recent("cpu")] == [1, 130, 120], "what still runs is no history"


def test_finished_updates_are_told_from_a_moment_on_oldest_first(catalog: Catalog) -> None:
    for at in (130.0, 110.0, 120.0):
        catalog.updates.finish(catalog.updates.start(an_update()), at=at, freshness=at, rows=1)
    catalog.updates.fail(catalog.updates.start(an_update()), at=125.0, error="no")
    assert [row.finished_at for row in catalog.updates.done_since(120.0)] == [120.0, 130.0]


def test_a_committed_update_is_booked_with_its_files_and_leaves_a_pause_in_between_alone(catalog: Catalog) -> None:
    catalog.tables.put(TableRow(name="cpu"))
    files = [catalog.arrivals.register(a_file(f"/in/{number}"), ["cpu"]) for number in range(3)]
    update = catalog.updates.start(an_update())
    row = replace(catalog.tables.get("cpu"), number=1, version=0, freshness=90.0, safe=80.0, counts={"read": 6})
    catalog.tables.set_status("cpu", "paused")
    catalog.book_update(row, update, files=files[:2], rows=6, at=104.0)
    assert catalog.arrivals.loaded("cpu") == files[:2]
    assert catalog.arrivals.pending("cpu") == files[2:]
    assert catalog.tables.get("cpu") == replace(row, status="paused")
    (done,) = catalog.updates.recent("cpu")
    assert (done.status, done.seconds, done.freshness, done.rows) == (UpdateStatus.DONE, 4.0, 90.0, 6)


def test_requests_wait_in_order_until_they_are_done(catalog: Catalog) -> None:
    first = catalog.requests.add(RequestKind.PAUSE, "cpu", at=1.0)
    second = catalog.requests.add(RequestKind.BACKFILL, "disk", at=2.0)
    third = catalog.requests.add(RequestKind.RETRY, "/in/a file.csv", at=3.0)
    waiting = catalog.requests.open_after(0)
    assert [(r.id, r.kind, r.target, r.created_at) for r in waiting] == [
        (first, RequestKind.PAUSE, "cpu", 1.0),
        (second, RequestKind.BACKFILL, "disk", 2.0),
        (third, RequestKind.RETRY, "/in/a file.csv", 3.0),
    ]
    catalog.requests.finish(second, "rebuilt")
    catalog.requests.finish(first, "no such table", succeeded=False)
    assert [request.id for request in catalog.requests.open_after(0)] == [third]
    assert catalog.requests.open_after(third) == []
    done, refused = catalog.requests.get(second), catalog.requests.get(first)
    assert done is not None
    assert refused is not None
    assert (done.done, done.succeeded, done.message) == (True, True, "rebuilt")
    assert (refused.done, refused.succeeded, refused.message) == (True, False, "no such table")
    assert catalog.requests.get(third + 1) is None


def test_two_processes_see_the_same_catalog(catalog: Catalog, url: str) -> None:
    other = Catalog.open(url)
    other.requests.add(RequestKind.RESUME, "cpu", at=1.0)
    catalog.tables.put(FULL)
    assert [request.target for request in catalog.requests.open_after(0)] == ["cpu"]
    assert other.tables.get("cpu") == FULL
    other.close()


@pytest.mark.parametrize("url", ["nonsense", "nosuchdatabase://here", "mysql://here", "postgresql://here:port/x"])
def test_a_url_that_names_no_catalog_is_reported_with_an_example(url: str) -> None:
    with pytest.raises(CatalogUrlError, match="postgresql\\+psycopg://"):
        Catalog.open(url)


def test_a_catalog_that_cannot_be_opened_is_reported_with_the_way_out() -> None:
    with pytest.raises(CatalogError, match=r"freshtide\.yml"):
        Catalog.open("sqlite:////proc/nowhere/catalog.db")


def test_a_reason_may_quote_what_cannot_be_stored_as_text(catalog: Catalog) -> None:
    catalog.tables.put(FULL)
    catalog.tables.set_status("cpu", "failed", "Found 'a\0b' and '\udcff'.")
    assert catalog.tables.get("cpu").reason == r"Found 'a\0b' and '\udcff'."


def test_a_catalog_of_an_earlier_release_gains_the_columns_it_lacks(url: str) -> None:
    earlier = Catalog.open(url)
    file = earlier.arrivals.register(a_file(), ["t"])
    with earlier._engine.begin() as connection:  # As that release has left it.
        connection.exec_driver_sql("ALTER TABLE loads DROP COLUMN sha256")
        connection.exec_driver_sql("ALTER TABLE files DROP COLUMN unpacked")
    earlier.close()
    catalog = Catalog.open(url)
    catalog.arrivals.mark_loaded("t", [file.id], 1)
    assert catalog.arrivals.loaded("t") == [file]
    assert catalog.arrivals.outdated_tables() == set()
    catalog.close()
