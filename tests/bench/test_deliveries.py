"""Staleness of what was delivered, against areas worked out by hand."""

from __future__ import annotations

import pytest
from bench.deliveries import Deliveries, Delivery, one_by_one, staleness_of
from bench.ticks import Arrival


def test_a_key_is_stale_from_the_landing_of_its_row_until_a_row_as_new_is_committed() -> None:
    arrivals = [Arrival(at=0.0, keys=["a", "b"]), Arrival(at=4.0, keys=["a"])]
    deliveries = [Delivery(at=2.0, newest={"a": 0}), Delivery(at=6.0, newest={"a": 2, "b": 1})]
    found = staleness_of(arrivals, deliveries, first=0, begun=0.0, end=10.0)
    # a: two triangles of 2 by 2; b: one of 6 by 6.
    assert found.mean == pytest.approx(((2.0 + 2.0) / 10.0 + 18.0 / 10.0) / 2)
    assert found.at_end == 0.0


def test_a_row_that_supersedes_others_delivers_them_all_and_an_older_one_does_not() -> None:
    arrivals = [Arrival(at=0.0, keys=["a"]), Arrival(at=1.0, keys=["a"])]
    newest = staleness_of(arrivals, [Delivery(at=2.0, newest={"a": 1})], first=0, begun=0.0, end=4.0)
    oldest = staleness_of(arrivals, [Delivery(at=2.0, newest={"a": 0})], first=0, begun=0.0, end=4.0)
    assert newest.at_end == 0.0
    assert oldest.at_end == 3.0


def test_rows_before_the_first_that_counts_and_commits_after_the_end_do_not_count() -> None:
    arrivals = [Arrival(at=0.0, keys=["a"])]
    deliveries = [Delivery(at=1.0, newest={"a": 6, "warm": 3}), Delivery(at=5.0, newest={"a": 7})]
    found = staleness_of(arrivals, deliveries, first=7, begun=0.0, end=4.0)
    assert found.mean == pytest.approx(2.0)
    assert found.at_end == 4.0


def test_one_can_wait_for_a_row_or_a_later_one() -> None:
    deliveries = Deliveries()
    deliveries.note({"a": 3, "b": 1})
    assert deliveries.wait_for(2, limit=0.0)
    assert not deliveries.wait_for(4, limit=0.0)
    assert [delivery.newest for delivery in deliveries.all] == [{"a": 3, "b": 1}]


def test_an_append_queue_at_its_best_is_busy_with_one_row_after_the_other_while_there_are_any() -> None:
    arrivals = [Arrival(at=1.0, keys=["a", "b"]), Arrival(at=2.0, keys=["a"]), Arrival(at=20.0, keys=["c"])]
    assert one_by_one(arrivals, first=5, cost=3.0) == [
        Delivery(at=4.0, newest={"a": 5}),
        Delivery(at=7.0, newest={"b": 6}),
        Delivery(at=10.0, newest={"a": 7}),
        Delivery(at=23.0, newest={"c": 8}),
    ]
