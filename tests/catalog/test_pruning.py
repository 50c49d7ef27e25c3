"""What the catalog forgets, and what it keeps for ever."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine

from freshtide.catalog import Catalog, RequestKind, UpdateRow, UpdateStatus
from freshtide.catalog.database import Database
from freshtide.catalog.pruning import prune

from .arrivals import a_file

_DAY = 86_400.0


def an_update(number: int) -> UpdateRow:
    return UpdateRow(
        table="cpu", number=number, kind="load", track=0, status=UpdateStatus.RUNNING, started_at=1.0, upto=1.0
    )


@pytest.mark.slow
def test_only_so_many_updates_are_kept_and_none_that_still_runs(catalog: Catalog, url: str) -> None:
    running = catalog.updates.start(an_update(0))
    for number in range(1, 2_500):
        catalog.updates.finish(catalog.updates.start(an_update(number)), at=2.0, freshness=1.0, rows=1)
    engine = create_engine(url)
    prune(Database(engine), 3.0, most_updates=100)
    engine.dispose()
    kept = catalog.updates.recent("cpu", 5_000)
    assert [row.number for row in kept] == [*range(2_499, 2_399, -1), 0]
    assert kept[-1].id == running


def test_requests_are_forgotten_a_day_after_they_were_made_if_they_are_done(catalog: Catalog) -> None:
    done, still_open, new = (catalog.requests.add(RequestKind.PAUSE, "cpu", at=at) for at in (1.0, 1.0, 10.0))
    for request in (done, new):
        catalog.requests.finish(request, "paused")
    catalog.prune(_DAY + 5.0)
    assert catalog.requests.get(done) is None
    assert catalog.requests.get(still_open) is not None
    assert catalog.requests.get(new) is not None


def test_a_file_that_was_loaded_long_ago_keeps_what_is_asked_for_later(catalog: Catalog) -> None:
    loaded, pending = (
        catalog.arrivals.register(a_file(f"/in/{name}", columns=("a", "b"), reason="said", arrived_at=1.0), ["t", "u"])
        for name in ("loaded", "pending")
    )
    for table in ("t", "u"):
        catalog.arrivals.mark_loaded(table, [loaded.id], 1)
    catalog.arrivals.mark_loaded("t", [pending.id], 2)
    before = catalog.arrivals.expected_rows("t"), catalog.arrivals.known_paths("cpu"), catalog.arrivals.counts()
    catalog.prune(8 * _DAY)
    slim, full = catalog.arrivals.by_path("cpu", loaded.position), catalog.arrivals.by_path("cpu", pending.position)
    assert slim is not None
    assert (slim.columns, slim.reason) == (None, None)
    assert (slim.digest, slim.rows, slim.timestamp) == (loaded.digest, loaded.rows, loaded.timestamp)
    assert full == pending
    assert [file.position for file in catalog.arrivals.loaded("t")] == [loaded.position, pending.position]
    assert (
        catalog.arrivals.expected_rows("t"),
        catalog.arrivals.known_paths("cpu"),
        catalog.arrivals.counts(),
    ) == before
    assert catalog.arrivals.contents("cpu", [loaded.digest]) == {loaded.digest: {loaded.position}}
