"""Requests that are taken up, withdrawn, or both at the same moment."""

from __future__ import annotations

import threading

import pytest

from freshtide.catalog import Catalog, RequestKind
from freshtide.catalog.requests import NoAnswerError


def test_what_nobody_answered_in_time_is_not_done_later(catalog: Catalog) -> None:
    number = catalog.requests.add(RequestKind.PAUSE, "cpu", at=1.0)
    with pytest.raises(NoAnswerError, match="nothing was done"):
        catalog.requests.wait_for(number, longest=0.05)
    assert catalog.requests.open_after(0) == []
    assert not catalog.requests.take_up(number), "also not by a run that has read it before"


def test_what_a_run_has_begun_with_cannot_be_withdrawn(catalog: Catalog) -> None:
    number = catalog.requests.add(RequestKind.BACKFILL, "cpu", at=1.0)
    assert catalog.requests.take_up(number)
    with pytest.raises(NoAnswerError, match="begun"):
        catalog.requests.wait_for(number, longest=0.05)
    catalog.requests.finish(number, "rebuilt")
    assert catalog.requests.wait_for(number).message == "rebuilt"


def test_a_request_that_a_dead_run_had_begun_with_is_taken_up_by_the_next(catalog: Catalog) -> None:
    number = catalog.requests.add(RequestKind.BACKFILL, "cpu", at=1.0)
    assert catalog.requests.take_up(number)
    assert [request.id for request in catalog.requests.open_after(0)] == [number]
    assert catalog.requests.take_up(number)


def test_nobody_waits_for_a_run_that_has_ended(catalog: Catalog) -> None:
    number = catalog.requests.add(RequestKind.BACKFILL, "cpu", at=1.0)
    with pytest.raises(NoAnswerError, match="has ended"):
        catalog.requests.wait_for(number, going_on=lambda: False)
    assert catalog.requests.open_after(0) == []


def test_who_waits_for_a_backfill_is_told_that_the_next_run_takes_it_up(catalog: Catalog) -> None:
    number = catalog.requests.add(RequestKind.BACKFILL, "cpu", at=1.0)
    catalog.requests.take_up(number)
    with pytest.raises(NoAnswerError, match=r"next run takes the backfill up; `freshtide backfill cpu --cancel`"):
        catalog.requests.wait_for(number, going_on=lambda: False)
    assert [request.id for request in catalog.requests.open_after(0)] == [number]


def test_an_answer_at_the_last_moment_counts(catalog: Catalog) -> None:
    number = catalog.requests.add(RequestKind.PAUSE, "cpu", at=1.0)
    ended = threading.Event()

    def going_on() -> bool:
        if not ended.is_set():
            catalog.requests.take_up(number)
            catalog.requests.finish(number, "paused")
            ended.set()
        return False

    assert catalog.requests.wait_for(number, going_on=going_on).message == "paused"


def test_a_run_that_has_begun_in_time_may_take_as_long_as_it_takes(catalog: Catalog) -> None:
    late = catalog.requests.add(RequestKind.PLAN, "", at=1.0)
    with pytest.raises(NoAnswerError, match="nothing was done"):
        catalog.requests.wait_for(late, taken_up_within=0.05)
    assert catalog.requests.open_after(0) == []
    begun = catalog.requests.add(RequestKind.PLAN, "", at=1.0)
    assert catalog.requests.take_up(begun)
    looks = 0

    def going_on() -> bool:
        nonlocal looks
        looks += 1
        if looks == 4:
            catalog.requests.finish(begun, "this and that")
        return True

    assert catalog.requests.wait_for(begun, taken_up_within=0.05, going_on=going_on).message == "this and that"
