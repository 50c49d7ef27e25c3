"""Update streams beside append tables: what counts is how long the oldest pending update has waited."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.events import DataArrived, TimerFired, UpdateFinished
from freshtide.scheduling import ORDERINGS, Policy, adaptive_policy

from .bench import PLAIN, Bench, arrival, starts, table


def stream(name: str = "quotes", **changes: object) -> DataArrived:
    return DataArrived(**({"table": name, "timestamp": 5.0} | changes))  # type: ignore[arg-type]


def busy(*others: str, gain: float = 4.0, policy: Policy = PLAIN) -> Bench:
    """One track, taken by `long`; an update stream and append tables that gain so much freshness are still to come."""
    bench = Bench(
        table("long"),
        table("quotes", update_stream=True),
        *(table(name, freshness=0.0, safe=0.0) for name in others),
        policy=policy,
    )
    assert bench.at(10.0).arrives("long", 1.0) == ["long"]
    bench.happens(stream(), *(arrival(name, gain) for name in others))
    return bench


def test_an_update_is_taken_at_once_where_a_track_is_free() -> None:
    bench = Bench(table("quotes", update_stream=True))
    assert bench.at(7.0).arrives("quotes", 5.0) == ["quotes"]
    assert bench.running["quotes"].upto == 5.0


def test_an_append_table_that_gains_more_than_the_update_stream_has_waited_goes_first() -> None:
    bench = busy("cpu", gain=4.0)
    assert bench.at(13.0).finishes("long") == ["cpu"]


def test_an_update_stream_overtakes_an_append_table_once_it_has_waited_longer_than_that_gains() -> None:
    bench = busy("cpu", gain=4.0)
    assert bench.at(15.0).finishes("long") == ["quotes"]
    (start,) = starts(bench.commands)
    assert start.decision is not None
    assert start.decision.delta == 5.0, "since 10"
    assert [(other.table, other.benefit) for other in start.decision.runners_up] == [("cpu", 4.0)]


def test_what_waits_is_told_with_the_staleness_of_the_last_look() -> None:
    bench = busy("cpu", gain=4.0)
    bench.at(12.0).timer()
    first, second = bench.scheduler.best(2)
    assert (first.table, second.table, second.delta) == ("cpu", "quotes", 2.0)
    bench.at(20.0).timer()
    first, second = bench.scheduler.best(2)
    assert (first.table, first.delta, second.table) == ("quotes", 10.0, "cpu")
    assert "that its oldest update has waited" in bench.scheduler.because(first)
    assert "waited" not in bench.scheduler.because(second)


def test_the_longest_waiting_of_two_update_streams_goes_first() -> None:
    bench = Bench(table("long"), table("a", update_stream=True), table("b", update_stream=True))
    bench.arrives("long", 1.0)
    bench.at(2.0).happens(stream("b"))
    bench.at(3.0).happens(stream("a", timestamp=99.0))
    assert bench.at(9.0).finishes("long") == ["b"], "time stamps say nothing about waiting"


def test_newer_updates_do_not_make_a_table_look_less_stale() -> None:
    bench = busy()
    for moment in (11.0, 12.0, 13.0):
        bench.at(moment).happens(stream(timestamp=moment))
    bench.at(14.0).finishes("long")
    (start,) = starts(bench.commands)
    assert (start.upto, start.decision and start.decision.delta) == (13.0, 4.0)


def test_a_table_with_residents_left_is_scheduled_again() -> None:
    bench = Bench(table("quotes", update_stream=True))
    bench.at(10.0).arrives("quotes", 8.0)
    update = bench.running.pop("quotes")
    done = UpdateFinished("quotes", update.track, freshness=8.0, safe=8.0, seconds=1.0)
    bench.at(11.0).happens(done, stream(timestamp=6.5, at=9.25))
    (start,) = starts(bench.commands)
    assert start.table == "quotes"
    assert start.upto == 8.0, "a table never goes back behind what it has loaded"
    assert start.decision is not None
    assert start.decision.delta == 1.75, "since the oldest of them arrived"
    assert bench.finishes("quotes") == []
    assert bench.scheduler.idle


def test_what_is_left_over_may_be_told_before_the_update_is_known_to_have_ended() -> None:
    bench = Bench(table("quotes", update_stream=True))
    bench.at(10.0).arrives("quotes", 8.0)
    assert bench.happens(stream(timestamp=6.0, at=9.0)) == []
    assert bench.finishes("quotes", 8.0) == ["quotes"]


def test_a_failed_update_is_as_stale_as_if_it_had_never_been_tried() -> None:
    bench = Bench(table("quotes", update_stream=True))
    bench.at(10.0).arrives("quotes", 8.0)
    bench.at(11.0).happens(stream(timestamp=9.0))
    bench.at(12.0).fails("quotes")
    bench.at(20.0).timer()
    (start,) = starts(bench.commands)
    assert start.decision is not None
    assert start.decision.delta == 10.0


def test_views_of_an_update_stream_follow_each_of_its_updates_though_it_gets_no_fresher() -> None:
    bench = Bench(
        table("quotes", update_stream=True, freshness=8.0, safe=8.0),
        table("board", "quotes", update_stream=True, freshness=8.0, safe=8.0),
        table("wall", "board", update_stream=True, freshness=8.0, safe=8.0),
        tracks=2,
    )
    bench.at(10.0).happens(stream(timestamp=6.0))
    assert bench.finishes("quotes", 8.0) == ["board"]
    assert bench.finishes("board", 8.0) == ["wall"]
    assert bench.finishes("wall", 8.0) == []


def test_a_view_of_an_update_stream_that_waits_overtakes_an_append_table_too() -> None:
    bench = Bench(
        table("quotes", update_stream=True, freshness=8.0, safe=8.0),
        table("board", "quotes", update_stream=True, freshness=8.0, safe=8.0),
        table("long"),
        table("cpu", freshness=0.0, safe=0.0),
    )
    bench.at(10.0).happens(stream(timestamp=6.0))
    bench.happens(arrival("long", 1.0))
    assert bench.finishes("quotes", 8.0) == ["long"], "the view has not waited yet"
    bench.at(20.0).happens(arrival("cpu", 4.0))
    assert bench.finishes("long") == ["board"]
    assert bench.finishes("board", 8.0) == ["cpu"]


def test_updates_of_an_update_stream_are_not_chopped() -> None:
    bench = Bench(table("quotes", update_stream=True, freshness=0.0, safe=0.0), policy=replace(PLAIN, chopping=1.0))
    bench.at(100.0).arrives("quotes", 90.0)
    assert bench.running["quotes"].upto == 90.0


def test_nothing_pending_is_told_in_words() -> None:
    bench = Bench(table("quotes", update_stream=True, freshness=8.0))
    bench.happens()
    assert bench.scheduler.look("quotes").waits == "no update is pending"


@pytest.mark.parametrize("ordering", sorted(ORDERINGS))
def test_under_every_ordering_all_pending_updates_are_taken_in_the_end(ordering: str) -> None:
    bench = busy("cpu", policy=replace(PLAIN, ordering=ordering))
    while bench.running:
        bench.at(bench.now + 1.0).finishes(next(iter(bench.running)))
    assert bench.scheduler.idle
    assert bench.scheduler.look("quotes").pending == 0


def test_under_reservations_updates_are_released_though_they_are_stamped_before_what_is_loaded() -> None:
    bench = Bench(table("quotes", update_stream=True, freshness=8.0, safe=8.0, period=10.0), policy=adaptive_policy())
    bench.at(100.0).happens(stream(timestamp=6.0))
    bench.at(101.0).timer()
    assert "quotes" in bench.running
    assert bench.finishes("quotes", 8.0) == []


@given(
    waits=st.lists(st.floats(0.0, 50.0), min_size=2, max_size=6),
    gains=st.lists(st.floats(0.0, 50.0), max_size=4),
    ends=st.floats(0.0, 20.0),
)
def test_max_benefit_prefers_whoever_is_stalest_now(waits: list[float], gains: list[float], ends: float) -> None:
    """Against the definition: with equal costs and priorities the largest staleness or gain of all goes first."""
    streams = {f"u{number}": arrived for number, arrived in enumerate(waits)}
    appends = {f"a{number}": gain for number, gain in enumerate(gains)}
    now = 50.0 + ends
    bench = Bench(
        table("long"),
        *(table(name, update_stream=True) for name in streams),
        *(table(name, freshness=0.0, safe=0.0) for name in appends),
    )
    bench.arrives("long", 1.0)
    for name, arrived in sorted(streams.items(), key=lambda pair: pair[1]):
        bench.at(arrived).happens(stream(name))
    bench.at(50.0).happens(*(arrival(name, gain) for name, gain in appends.items()))
    bench.at(now).happens(TimerFired())
    (chosen,) = bench.finishes("long")
    worth = {name: now - arrived for name, arrived in streams.items()} | appends
    assert worth[chosen] == max(worth.values())
