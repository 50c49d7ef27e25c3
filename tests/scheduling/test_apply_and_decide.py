"""What happens is applied, and then decided upon: each can be had alone."""

from __future__ import annotations

import pytest

from freshtide.core.commands import GiveUp, StartUpdate, WakeAt
from freshtide.core.events import DataArrived, SurroundingsFailed, SurroundingsMended, UpdateFailed, UpdateFinished
from freshtide.scheduling import Onlooker, RetryPolicy, Scheduler

from .bench import PLAIN, table


def scheduler_of(*names: str, attempts: int = 2) -> Scheduler:
    tables = [table(name, freshness=0.0, safe=0.0) for name in names]
    return Scheduler(tables, tracks=1, policy=PLAIN, uniform=lambda: 0.0, retry=RetryPolicy(attempts=attempts))


def test_what_is_applied_starts_nothing_until_it_is_decided_upon() -> None:
    scheduler = scheduler_of("a", "b")
    for moment, name in ((1.0, "a"), (2.0, "b")):
        assert scheduler.apply([DataArrived(name, moment)], moment) == ()
        scheduler.check()
    (start,) = scheduler.decide(2.0)
    assert isinstance(start, StartUpdate)
    assert (start.table, start.upto) == ("b", 2.0), "the better of all that has arrived"
    assert scheduler.decide(3.0) == [], "there is one track"


def test_an_end_that_is_applied_makes_room_for_the_next_decision() -> None:
    scheduler = scheduler_of("a", "b")
    scheduler.handle([DataArrived("a", 1.0)], 1.0)
    scheduler.handle([DataArrived("b", 2.0)], 2.0)
    scheduler.apply([UpdateFinished("a", 0, 1.0, 1.0, 1.0)], 3.0)
    assert (scheduler.look("a").freshness, scheduler.look("b").track) == (1.0, None)
    assert [command.table for command in scheduler.decide(3.0) if isinstance(command, StartUpdate)] == ["b"]


def test_retries_and_giving_up_follow_from_what_happened_alone() -> None:
    scheduler = scheduler_of("a")
    scheduler.handle([DataArrived("a", 1.0)], 1.0)
    assert scheduler.apply([UpdateFailed("a", 0, "no luck")], 2.0) == (WakeAt(3.0),)
    scheduler.decide(2.0)
    scheduler.apply([SurroundingsFailed("disk")], 2.5)
    assert scheduler.decide(3.0) == [], "nothing is decided while the surroundings are not well"
    scheduler.apply([SurroundingsMended()], 3.5)
    scheduler.check()
    given_up = scheduler_of("a", attempts=1)
    given_up.handle([DataArrived("a", 1.0)], 1.0)
    assert given_up.apply([UpdateFailed("a", 0, "no luck")], 2.0) == (GiveUp("a", "no luck"),)


def test_an_end_of_what_does_not_run_is_refused() -> None:
    with pytest.raises(AssertionError, match="no update of 'a' is running"):
        scheduler_of("a").handle([UpdateFinished("a", 0, 1.0, 1.0, 1.0)], 1.0)


def test_an_onlooker_starts_nothing_on_a_track_that_a_failed_update_gives_back() -> None:
    tables = [table(name, freshness=0.0, safe=0.0) for name in "ab"]
    onlooker = Onlooker(tables, tracks=1, policy=PLAIN, uniform=lambda: 0.0)
    onlooker.apply([DataArrived("a", 1.0), DataArrived("b", 1.0)], 1.0)
    onlooker.is_running("a", 0, upto=1.0)
    assert onlooker.look("b").waits == "home track 0 ('a') is busy"
    onlooker.apply([UpdateFailed("a", 0, "no luck")], 2.0)
    onlooker.check()
    assert onlooker.look("a").waits == "its last update failed and is tried again at 1970-01-01T00:00:03Z"
    assert (onlooker.look("b").track, onlooker.look("b").waits) == (None, "it is the next to start")
