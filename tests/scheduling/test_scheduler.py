from __future__ import annotations

import pytest

from freshtide.core.commands import DropRebuild
from freshtide.core.events import RebuildCancelled, RebuildRequested, TimerFired, UpdateFinished
from freshtide.scheduling import TARGET_LAGS, RetryPolicy

from .bench import Bench, arrival, given_up, starts, table, wakes


def test_arriving_data_is_loaded_at_once_where_a_track_is_free() -> None:
    bench = Bench(table("cpu"))
    assert bench.arrives("cpu", 7.0) == ["cpu"]
    assert bench.running["cpu"].upto == 7.0
    assert bench.running["cpu"].track == 0


def test_nothing_is_started_without_new_data() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), table("view", "cpu", freshness=5.0, safe=5.0))
    assert bench.happens() == []
    assert bench.scheduler.idle


def test_a_view_behind_its_sources_is_updated_from_the_start() -> None:
    bench = Bench(table("cpu", freshness=9.0, safe=9.0), table("view", "cpu", freshness=5.0, safe=5.0))
    (start,) = starts(bench.happens())
    assert (start.table, start.upto, start.rebuild) == ("view", 9.0, False)


def test_no_more_updates_run_than_there_are_tracks() -> None:
    bench = Bench(*(table(name) for name in "abcd"), tracks=2)
    bench.happens(*(arrival(name, 1.0) for name in "abcd"))
    assert {update.track for update in bench.running.values()} == {0, 1}
    assert bench.finishes("a") == ["c"]
    assert bench.running["c"].track == 0, "the track that came free"


def test_the_lowest_free_track_is_taken_first() -> None:
    bench = Bench(*(table(name) for name in "abc"), tracks=3)
    bench.happens(*(arrival(name, 1.0) for name in "abc"))
    bench.finishes("c")
    bench.finishes("a")
    bench.arrives("c", 2.0)
    assert bench.running["c"].track == 0


def test_data_that_arrives_during_an_update_is_for_the_next_one() -> None:
    bench = Bench(table("cpu"), tracks=2)
    bench.arrives("cpu", 1.0)
    assert bench.arrives("cpu", 2.0) == [], "one update per table at a time"
    assert bench.finishes("cpu", 1.0) == ["cpu"]
    assert bench.running["cpu"].upto == 2.0


def test_late_data_that_arrives_during_an_update_is_for_the_next_one_too() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 5.0)
    bench.arrives("cpu", 3.0)
    assert bench.finishes("cpu", 5.0) == ["cpu"]
    assert bench.finishes("cpu", 5.0) == []
    assert bench.scheduler.idle


def test_an_update_takes_all_that_is_pending_up_to_the_newest() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 3.0, 9.0, 6.0)
    assert bench.running["cpu"].upto == 9.0
    assert bench.finishes("cpu") == []


def test_a_view_is_released_when_its_trailing_edge_moves_and_not_before() -> None:
    bench = Bench(table("a"), table("b"), table("view", "a", "b"), tracks=3)
    bench.arrives("a", 10.0)
    assert bench.finishes("a") == [], "the other source has no data yet"
    bench.arrives("b", 4.0)
    assert bench.finishes("b") == ["view"]
    assert bench.running["view"].upto == 4.0
    bench.finishes("view")
    bench.arrives("a", 20.0)
    assert bench.finishes("a") == [], "the least fresh source has not moved"
    bench.arrives("b", 30.0)
    assert bench.finishes("b") == ["view"]
    assert bench.running["view"].upto == 20.0


def test_a_view_goes_as_far_as_is_safe_and_no_further() -> None:
    bench = Bench(table("a"), table("b"), table("view", "a", "b"), tracks=2)
    bench.happens(arrival("a", 10.0), arrival("b", 10.0))
    assert bench.finishes("a", 10.0, safe=7.0) == []
    assert bench.finishes("b", 10.0, safe=9.0) == ["view"]
    assert bench.running["view"].upto == 7.0


def test_a_source_that_gets_fresher_but_not_safer_releases_nothing() -> None:
    bench = Bench(table("a", freshness=5.0, safe=5.0), table("view", "a", freshness=5.0, safe=5.0))
    bench.arrives("a", 8.0)
    assert bench.finishes("a", 8.0, safe=5.0) == []


def test_a_source_whose_safe_freshness_is_unknown_holds_the_view_back() -> None:
    bench = Bench(table("a"), table("view", "a"))
    bench.arrives("a", 8.0)
    track = bench.running["a"].track
    assert bench.happens(UpdateFinished(table="a", track=track, freshness=8.0, safe=None, seconds=1.0)) == []


def test_a_diamond_is_updated_once_per_level_and_its_end_to_the_smaller_side() -> None:
    bench = Bench(
        table("base"),
        table("left", "base"),
        table("right", "base"),
        table("end", "left", "right"),
        tracks=4,
    )
    bench.arrives("base", 10.0)
    assert bench.finishes("base") == ["left", "right"]
    assert bench.finishes("left") == []
    bench.arrives("base", 20.0)
    bench.finishes("base")
    assert bench.running["left"].upto == 20.0
    assert bench.finishes("right") == ["right", "end"]
    assert bench.running["end"].upto == 10.0, "the other side is still on its way to 20"


def test_a_view_that_waits_for_buckets_to_close_is_released_when_one_does() -> None:
    bench = Bench(
        table("cpu"),
        table("hourly", "cpu"),
        reach=lambda name, cut: None if cut < 60.0 else cut // 60.0 * 60.0 if name == "hourly" else cut,
    )
    bench.arrives("cpu", 59.0)
    assert bench.finishes("cpu") == []
    bench.arrives("cpu", 70.0)
    assert bench.finishes("cpu") == ["hourly"]
    assert bench.running["hourly"].upto == 60.0
    bench.finishes("hourly")
    bench.arrives("cpu", 119.0)
    assert bench.finishes("cpu") == []


def test_a_failed_update_is_tried_again_after_a_wait_that_doubles() -> None:
    bench = Bench(table("cpu"), retry=RetryPolicy(attempts=5, backoff=3.0, longest=10.0))
    bench.at(100.0).arrives("cpu", 1.0)
    waits = []
    for _ in range(4):
        (wake,) = wakes(bench.fails("cpu"))
        waits.append(wake - bench.now)
        assert bench.at(wake - 0.001).timer() == [], "not before its time"
        assert bench.at(wake).timer() == ["cpu"]
    assert waits == [3.0, 6.0, 10.0, 10.0]


def test_the_data_of_a_failed_update_is_pending_again_together_with_what_has_come_since() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 1.0, 2.0)
    bench.arrives("cpu", 3.0)
    (wake,) = wakes(bench.fails("cpu"))
    assert bench.scheduler.look("cpu").pending == 3
    bench.at(wake).timer()
    assert bench.running["cpu"].upto == 3.0
    assert bench.finishes("cpu") == []


def test_new_data_does_not_shorten_the_wait_after_a_failure() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 1.0)
    (wake,) = wakes(bench.fails("cpu"))
    assert bench.arrives("cpu", 2.0) == []
    assert bench.scheduler.retrying
    assert bench.at(wake).timer() == ["cpu"]
    assert not bench.scheduler.retrying


def test_while_a_table_waits_to_be_tried_again_others_use_the_track() -> None:
    bench = Bench(table("broken"), table("fine"))
    bench.happens(arrival("broken", 1.0), arrival("fine", 1.0))
    bench.fails("broken")
    assert bench.started() == ["fine"]


def test_a_table_is_given_up_after_so_many_failures_in_a_row_with_the_last_reason() -> None:
    bench = Bench(table("cpu"), retry=RetryPolicy(attempts=3))
    bench.arrives("cpu", 1.0)
    for reason in ("first", "second"):
        (wake,) = wakes(bench.fails("cpu", reason))
        bench.at(wake).timer()
    commands = bench.fails("cpu", "third")
    assert given_up(commands) == [("cpu", "third")]
    assert wakes(commands) == []
    assert bench.arrives("cpu", 9.0) == []
    assert bench.scheduler.idle
    assert not bench.scheduler.retrying


def test_a_success_in_between_forgives_earlier_failures() -> None:
    bench = Bench(table("cpu"), retry=RetryPolicy(attempts=2))
    for step in range(5):
        bench.arrives("cpu", float(step))
        (wake,) = wakes(bench.fails("cpu"))
        assert bench.at(wake).timer() == ["cpu"]
        bench.finishes("cpu")


def test_a_table_given_up_goes_on_when_it_is_resumed_with_all_its_data_and_all_its_attempts() -> None:
    bench = Bench(table("cpu"), retry=RetryPolicy(attempts=2))
    bench.arrives("cpu", 1.0)
    bench.at(wakes(bench.fails("cpu"))[0]).timer()
    bench.fails("cpu")
    bench.arrives("cpu", 5.0)
    assert bench.resumes("cpu") == ["cpu"]
    assert bench.running["cpu"].upto == 5.0
    assert wakes(bench.fails("cpu")), "it may fail once more before it is given up again"


def test_resuming_a_table_that_waits_to_be_tried_again_tries_it_now() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 1.0)
    (wake,) = wakes(bench.fails("cpu"))
    assert bench.resumes("cpu") == ["cpu"]
    assert bench.at(wake).timer() == [], "the timer of the old failure finds nothing to do"


def test_dependents_of_a_table_given_up_wait_and_others_go_on() -> None:
    bench = Bench(
        table("bad"), table("good"), table("view", "bad"), table("fine", "good"), retry=RetryPolicy(attempts=1)
    )
    bench.arrives("bad", 1.0)
    assert given_up(bench.fails("bad")) == [("bad", "disk full")]
    bench.arrives("good", 1.0)
    assert bench.finishes("good") == ["fine"]
    assert bench.finishes("fine") == []


def test_a_paused_table_is_not_updated_until_it_is_resumed() -> None:
    bench = Bench(table("cpu"), table("view", "cpu"))
    bench.pauses("cpu")
    assert bench.arrives("cpu", 1.0, 2.0) == []
    assert bench.scheduler.idle
    assert bench.resumes("cpu") == ["cpu"]
    assert bench.running["cpu"].upto == 2.0
    assert bench.finishes("cpu") == ["view"]


def test_pausing_a_running_table_lets_its_update_end_and_starts_no_other() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 1.0)
    bench.arrives("cpu", 2.0)
    bench.pauses("cpu")
    assert bench.finishes("cpu") == []
    assert bench.resumes("cpu") == ["cpu"]


def test_pausing_takes_a_table_out_of_the_queue() -> None:
    bench = Bench(table("running"), table("waiting"))
    bench.arrives("running", 1.0)
    bench.arrives("waiting", 1.0)
    bench.pauses("waiting")
    assert bench.finishes("running") == []


def test_a_timer_does_not_wake_a_paused_table() -> None:
    bench = Bench(table("cpu"))
    bench.arrives("cpu", 1.0)
    (wake,) = wakes(bench.fails("cpu"))
    bench.pauses("cpu")
    assert bench.at(wake).timer() == []
    assert bench.resumes("cpu") == ["cpu"]


@pytest.mark.parametrize("status", ["paused", "failed"])
def test_a_table_that_was_paused_or_failed_before_the_start_still_is(status: str) -> None:
    bench = Bench(table("cpu", **{status: True}))
    assert bench.arrives("cpu", 1.0) == []
    assert bench.resumes("cpu") == ["cpu"]


def test_a_rebuild_computes_a_table_anew_as_of_the_freshness_it_has() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0))
    assert bench.rebuilds("cpu") == ["cpu"]
    assert (bench.running["cpu"].upto, bench.running["cpu"].rebuild) == (5.0, True)
    assert bench.finishes("cpu") == []


def test_new_data_of_a_base_table_is_loaded_after_its_rebuild() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0))
    bench.happens(arrival("cpu", 8.0), RebuildRequested(table="cpu"))
    assert bench.running["cpu"].rebuild
    assert bench.finishes("cpu") == ["cpu"]
    assert (bench.running["cpu"].upto, bench.running["cpu"].rebuild) == (8.0, False)


def test_a_rebuild_asked_for_before_anything_was_loaded_does_not_keep_data_out() -> None:
    bench = Bench(table("cpu"))
    assert bench.rebuilds("cpu") == []
    bench.arrives("cpu", 8.0)
    while bench.running:
        rebuild = bench.running["cpu"].rebuild
        bench.finishes("cpu", 0.0 if rebuild else 8.0)
    assert bench.scheduler.look("cpu").freshness == 8.0
    assert bench.scheduler.look("cpu").pending == 0


def test_what_depends_on_a_rebuilt_table_is_updated_too_sources_first() -> None:
    levels = [table("base", freshness=5.0, safe=5.0)]
    levels += [table("left", "base", freshness=5.0, safe=5.0), table("right", "base", freshness=5.0, safe=5.0)]
    levels += [table("end", "left", "right", freshness=5.0, safe=5.0), table("other", freshness=5.0, safe=5.0)]
    bench = Bench(*levels)
    order = bench.rebuilds("base")
    while bench.running:
        (name,) = bench.running
        order += bench.finishes(name, revised=True)
    assert order[0] == "base"
    assert set(order) == {"base", "left", "right", "end"}
    last = {name: place for place, name in enumerate(order)}
    assert last["end"] > max(last["left"], last["right"]), "its last update has seen both sides"
    assert bench.scheduler.idle


def test_a_source_that_was_not_revised_leaves_its_dependents_alone() -> None:
    bench = Bench(table("base", freshness=5.0, safe=5.0), table("view", "base", freshness=5.0, safe=5.0))
    bench.arrives("base", 4.0)
    assert bench.finishes("base", 5.0) == []


def test_a_view_whose_source_was_revised_is_updated_although_it_gets_no_fresher() -> None:
    bench = Bench(table("base", freshness=5.0, safe=5.0), table("view", "base", freshness=5.0, safe=5.0))
    bench.arrives("base", 4.0)
    assert bench.finishes("base", 5.0, revised=True) == ["view"]
    assert bench.running["view"].upto == 5.0
    assert bench.finishes("view") == []


def test_a_revision_during_a_views_update_leads_to_another_one() -> None:
    bench = Bench(table("base", freshness=5.0, safe=5.0), table("view", "base"), tracks=2)
    bench.happens()
    assert list(bench.running) == ["view"]
    bench.arrives("base", 4.0)
    assert bench.finishes("base", 5.0, revised=True) == []
    assert bench.finishes("view") == ["view"]


def test_a_failed_update_does_not_forget_why_it_was_wanted() -> None:
    bench = Bench(table("base", freshness=5.0, safe=5.0), table("view", "base", freshness=5.0, safe=5.0))
    bench.rebuilds("base")
    (wake,) = wakes(bench.fails("base"))
    assert bench.at(wake).timer() == ["base"]
    assert bench.running["base"].rebuild
    assert bench.finishes("base") == ["view"]
    (wake,) = wakes(bench.fails("view"))
    assert bench.at(wake).timer() == ["view"]


def test_a_revision_before_the_start_is_made_up_for() -> None:
    bench = Bench(
        table("base", freshness=5.0, safe=5.0), table("view", "base", freshness=5.0, safe=5.0, revised_sources=True)
    )
    bench.happens()
    assert list(bench.running) == ["view"]


def test_all_that_happened_is_applied_before_anything_is_decided() -> None:
    bench = Bench(table("small", freshness=0.0, safe=0.0), table("large", freshness=0.0, safe=0.0))
    bench.happens(arrival("small", 1.0), arrival("large", 100.0))
    assert bench.started() == ["large"]


def test_timers_without_a_cause_do_nothing() -> None:
    bench = Bench(table("cpu"))
    assert bench.happens(TimerFired(), TimerFired()) == []


def test_a_look_at_a_table_shows_what_it_waits_for() -> None:
    bench = Bench(table("running"), table("cpu", freshness=2.0, safe=2.0, priority=3.0), ordering="max-benefit")
    bench.at(1.0).arrives("running", 1.0)
    bench.at(2.0).arrives("cpu", 6.0)
    seen = bench.scheduler.look("cpu")
    assert (seen.pending, seen.track, seen.freshness) == (1, None, 2.0)
    assert seen.candidate is not None
    assert (seen.candidate.released_at, seen.candidate.delta, seen.candidate.upto) == (2.0, 4.0, 6.0)
    assert [candidate.table for candidate in bench.scheduler.best(5)] == ["cpu"]
    assert bench.scheduler.look("running").track == 0
    assert not bench.scheduler.idle


def test_under_fifo_a_view_waits_from_the_moment_its_sources_moved() -> None:
    bench = Bench(table("a"), table("b"), table("view", "a"), ordering="fifo")
    bench.at(1.0).arrives("a", 1.0)
    bench.at(2.0).arrives("b", 1.0)
    assert bench.at(3.0).finishes("a") == ["b"]
    assert bench.at(4.0).finishes("b") == ["view"]


def unfinished(bench: Bench, name: str) -> list[str]:
    """A part of a rebuild has ended, and others are to follow."""
    update = bench.running.pop(name)
    bench.happens(
        UpdateFinished(name, update.track, freshness=update.upto, safe=update.upto, seconds=1.0, unfinished=True)
    )
    return bench.started()


def test_a_rebuild_goes_on_until_its_last_part() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), table("view", "cpu", freshness=5.0, safe=5.0))
    bench.rebuilds("cpu")
    for _ in range(3):
        assert bench.running["cpu"].rebuild
        assert unfinished(bench, "cpu") == ["cpu"], "the view is asked for nothing before all of it is there"
    assert bench.scheduler.rebuilds("cpu")
    assert bench.finishes("cpu") == ["view"]
    assert not bench.scheduler.rebuilds("cpu")


def test_between_two_parts_of_a_rebuild_new_data_is_loaded_and_neither_keeps_the_other_out() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0))
    bench.rebuilds("cpu")
    told = []
    for stamp in range(6, 12):
        bench.arrives("cpu", float(stamp), stamp + 0.5)
        update = bench.running["cpu"]
        told.append((update.rebuild, update.upto))
        if update.rebuild:
            unfinished(bench, "cpu")
        else:
            bench.finishes("cpu")
    assert told == [(True, 5.0), (False, 6.5), (True, 6.5), (False, 8.5), (True, 8.5), (False, 10.5)]


def test_a_part_of_a_rebuild_that_fails_is_tried_again_as_a_part() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0))
    bench.rebuilds("cpu")
    unfinished(bench, "cpu")
    bench.fails("cpu")
    bench.at(100.0).timer()
    assert bench.running["cpu"].rebuild
    bench.finishes("cpu")
    assert not bench.scheduler.rebuilds("cpu")


def test_a_load_between_two_parts_that_fails_takes_nothing_of_the_rebuild_with_it() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0))
    bench.rebuilds("cpu")
    bench.arrives("cpu", 6.0)
    unfinished(bench, "cpu")
    told = [bench.running["cpu"].rebuild]
    bench.fails("cpu")
    bench.at(100.0).timer()
    told.append(bench.running["cpu"].rebuild)
    assert bench.finishes("cpu", 5.0) == ["cpu"]
    told.append(bench.running["cpu"].rebuild)
    assert told == [False, True, False], "what is to be loaded comes after the next part"
    assert bench.running["cpu"].upto == 6.0


def test_other_tables_go_between_the_parts_of_a_rebuild() -> None:
    bench = Bench(
        table("cpu", freshness=0.0, safe=0.0, period=10.0),
        table("tight", freshness=0.0, safe=0.0, period=10.0, target=15.0),
        policy=TARGET_LAGS,
    )
    bench.at(10.0).rebuilds("cpu")
    bench.at(20.0).arrives("tight", 10.0)
    assert unfinished(bench, "cpu") == ["tight"]
    assert bench.finishes("tight") == ["cpu"]
    assert bench.running["cpu"].rebuild


def in_parts(bench: Bench, name: str, freshness: float | None) -> list[tuple[bool, float]]:
    """Of an update and those that follow on it what each is told, if none but the third comes to an end."""
    told = []
    for _ in range(3):
        update = bench.running.pop(name)
        told.append((update.rebuild, update.upto))
        is_last = len(told) == 3
        reached = update.upto if is_last else freshness
        bench.happens(
            UpdateFinished(
                name,
                update.track,
                freshness=reached,
                safe=reached,
                seconds=1.0,
                revised=is_last,
                unfinished=not is_last,
            )
        )
    return told


def test_a_view_whose_source_was_rebuilt_follows_in_parts_and_brings_nothing_else_before() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), table("view", "cpu", freshness=5.0, safe=5.0), tracks=2)
    bench.rebuilds("cpu")
    bench.finishes("cpu", 7.0, revised=True)
    bench.arrives("cpu", 8.0)
    bench.finishes("cpu")
    assert in_parts(bench, "view", 5.0) == [(False, 7.0), (False, 8.0), (False, 8.0)]
    assert bench.scheduler.look("view").freshness == 8.0
    assert bench.scheduler.idle


def test_a_view_that_is_rebuilt_in_parts_follows_its_sources_between_them() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), table("view", "cpu", freshness=5.0, safe=5.0), tracks=2)
    bench.rebuilds("view")
    bench.arrives("cpu", 6.0)
    bench.finishes("cpu", revised=True)
    update = bench.running.pop("view")
    bench.happens(UpdateFinished("view", update.track, freshness=5.0, safe=5.0, seconds=1.0, unfinished=True))
    assert (bench.running["view"].rebuild, bench.running["view"].upto) == (False, 6.0)
    assert bench.finishes("view", revised=True) == ["view"]
    assert (bench.running["view"].rebuild, bench.running["view"].upto) == (True, 6.0)
    assert bench.finishes("view", revised=True) == []
    assert not bench.scheduler.rebuilds("view")


def test_a_view_that_was_defined_anew_is_nothing_before_its_last_part() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), table("view", "cpu"))
    bench.arrives("cpu", 6.0)
    bench.finishes("cpu")
    told = in_parts(bench, "view", 4.0)
    assert told == [(False, 6.0)] * 3, "what it was fresh up to before does not count"
    assert bench.scheduler.look("view").freshness == 6.0
    assert bench.scheduler.idle


def test_the_next_part_of_a_rebuild_is_ranked_by_how_long_it_may_take() -> None:
    """What an ordinary update takes says nothing about it, and would let it overtake who is nearer to a target."""
    bench = Bench(
        table("cpu", alpha=0.1, freshness=0.0, safe=0.0, period=10.0),
        table("tight", alpha=0.1, freshness=0.0, safe=0.0, period=10.0, target=25.1),
        policy=TARGET_LAGS,
    )
    bench.at(10.0).rebuilds("cpu")
    costs = [bench.running["cpu"].decision.cost] if bench.running["cpu"].decision else []
    unfinished(bench, "cpu")
    decision = bench.running["cpu"].decision
    assert decision is not None
    assert decision.cost == pytest.approx(5.0), "a third of the 15s that are left"
    assert costs == [pytest.approx(0.1)]


def test_a_rebuild_that_was_only_wished_for_is_given_up_and_the_table_goes_on() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), retry=RetryPolicy(attempts=2))
    bench.happens(RebuildRequested("cpu", wished=True))
    bench.fails("cpu", "a file is away")
    bench.at(1.0).timer()
    commands = bench.fails("cpu", "a file is away")
    assert commands == [DropRebuild("cpu", "a file is away")]
    assert not bench.scheduler.rebuilds("cpu")
    assert bench.arrives("cpu", 8.0) == ["cpu"]
    assert not bench.running["cpu"].rebuild
    assert given_up(bench.fails("cpu")) == [], "it begins to count anew"


def test_a_table_fails_with_a_rebuild_that_it_needs_whoever_wishes_for_it_as_well() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), retry=RetryPolicy(attempts=1))
    bench.happens(RebuildRequested("cpu"), RebuildRequested("cpu", wished=True))
    assert bench.happens(RebuildCancelled("cpu")) == []
    assert given_up(bench.fails("cpu", "no luck")) == [("cpu", "no luck")]


@pytest.mark.parametrize("ends", ["a part", "all", "in failure"])
def test_a_rebuild_that_is_cancelled_while_it_runs_is_over_when_its_update_ends(ends: str) -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), retry=RetryPolicy(attempts=1))
    bench.happens(RebuildRequested("cpu", wished=True))
    assert bench.happens(RebuildCancelled("cpu")) == [DropRebuild("cpu")]
    if ends == "in failure":
        assert bench.fails("cpu") == [], "and nothing is given up for it"
    else:
        assert (unfinished(bench, "cpu") if ends == "a part" else bench.finishes("cpu")) == []
    assert bench.scheduler.idle
    assert bench.happens(RebuildCancelled("cpu")) == [], "there is none any more"
    assert bench.arrives("cpu", 8.0) == ["cpu"]


def test_a_rebuild_that_waits_is_cancelled_and_one_that_is_asked_for_after_that_is_done() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0), table("other"))
    bench.arrives("other", 1.0)
    bench.happens(RebuildRequested("cpu", wished=True))
    assert bench.happens(RebuildCancelled("cpu")) == [DropRebuild("cpu")]
    assert bench.finishes("other") == []
    assert bench.rebuilds("cpu") == ["cpu"]


def test_loads_wait_for_a_rebuild_that_nothing_can_be_added_before() -> None:
    bench = Bench(table("cpu", freshness=5.0, safe=5.0))
    bench.happens(arrival("cpu", 6.0), RebuildRequested("cpu", before_loads=True))
    for _ in range(3):
        assert bench.running["cpu"].rebuild
        unfinished(bench, "cpu")
        bench.arrives("cpu", 7.0)
    assert bench.finishes("cpu") == ["cpu"]
    assert (bench.running["cpu"].upto, bench.running["cpu"].rebuild) == (7.0, False)
    bench.finishes("cpu")
    bench.happens(RebuildRequested("cpu"), arrival("cpu", 9.0))
    unfinished(bench, "cpu")
    assert not bench.running["cpu"].rebuild, "with the next one it is as ever"
