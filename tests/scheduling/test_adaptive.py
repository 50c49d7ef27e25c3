"""The adaptive scheduler: releases, modes and the seven rules, one by one, as Leontyev et al. 2010 have them.

What goes on beyond the paper, on tracks that are idle, is at the end.
"""

from __future__ import annotations

from typing import Any

import pytest

from freshtide.scheduling import Adaptive, Mode, ReservationView, ScheduledTable, adaptive_policy
from tests.scheduling.bench import Bench, arrival, table, wakes

PERIOD, RECOVERY, THRESHOLD = 3.0, 1.5, 8.0
BACKLOG = (4.0, 7.0, 10.0, 13.0)
"""Far enough beyond a freshness of 1 to be beyond the threshold."""


def adaptive(*tables: ScheduledTable, tracks: int = 1, **settings: Any) -> Bench:
    chosen = {"recovery": RECOVERY, "threshold": THRESHOLD, "early": False} | settings
    return Bench(*tables, tracks=tracks, policy=adaptive_policy(Adaptive(**chosen)))


def fed(name: str, **changes: Any) -> ScheduledTable:
    return table(name, **{"period": PERIOD, "freshness": 0.0, "safe": 0.0} | changes)


def reservation(bench: Bench, name: str = "v") -> ReservationView:
    found = bench.scheduler.look(name).reservation
    assert found is not None
    return found


def test_the_first_update_is_released_when_the_table_is_no_longer_fresh() -> None:
    bench = adaptive(fed("v"))
    assert bench.at(1.0).arrives("v", 1.0) == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (1.0, 4.0)


def test_an_update_loads_one_file() -> None:
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0, 2.0)
    assert bench.running["v"].upto == 1.0


def test_a_file_that_came_before_the_deadline_is_loaded_from_the_deadline_on() -> None:
    """Example 3, inset (a)."""
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0)
    assert bench.at(2.0).finishes("v") == []
    assert bench.at(3.5).arrives("v", 3.0) == []
    assert reservation(bench).next_release == 4.0
    assert bench.at(4.0).timer() == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (4.0, 7.0)


def test_after_an_update_that_ended_late_the_next_counts_as_released_at_the_deadline() -> None:
    """Example 3, inset (b)."""
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0)
    bench.at(3.5).arrives("v", 3.0)
    assert bench.at(5.0).finishes("v") == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (4.0, 7.0)


def test_a_file_that_comes_after_the_deadline_is_released_at_once() -> None:
    """Example 3, inset (c)."""
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0)
    bench.at(2.0).finishes("v")
    assert bench.at(4.5).arrives("v", 4.0) == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (4.5, 7.5)


def test_a_file_that_comes_after_an_update_that_ended_late_is_released_at_once() -> None:
    """Example 3, inset (d)."""
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0)
    bench.at(5.0).finishes("v")
    assert bench.at(5.5).arrives("v", 5.0) == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (5.5, 8.5)


def test_the_scheduler_asks_to_be_woken_when_the_next_update_is_released() -> None:
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0, 2.0)
    bench.at(2.0).finishes("v")
    assert wakes(bench.commands) == [4.0]


def test_the_earlier_deadline_goes_first_and_declaration_settles_ties() -> None:
    bench = adaptive(fed("blocker"), fed("second", period=4.0), fed("first"), fed("third", period=4.0))
    bench.at(1.0).arrives("blocker", 1.0)
    for name in ("third", "second", "first"):
        bench.at(2.0).arrives(name, 2.0)
    order = []
    for moment, name in ((3.0, "blocker"), (3.5, "first"), (3.6, "second")):
        order += bench.at(moment).finishes(name)
    assert order == ["first", "second", "third"]


def test_a_view_goes_as_far_as_its_sources_do() -> None:
    """Example 2: a view with data up to 5 over sources with freshness 8 and 9 is updated to 8."""
    view = fed("v4", freshness=5.0, safe=5.0)
    sources = (fed("v2", freshness=8.0, safe=8.0), fed("v3", freshness=9.0, safe=9.0))
    bench = adaptive(*sources, ScheduledTable(name="v4", sources=("v2", "v3"), period=PERIOD, freshness=view.freshness))
    bench.at(12.0).happens()
    assert bench.running["v4"].upto == 8.0


def test_a_view_gains_one_period_at_a_time() -> None:
    """Definition 8."""
    view = ScheduledTable(name="v", sources=("b",), period=PERIOD, freshness=5.0)
    bench = adaptive(fed("b", freshness=20.0, safe=20.0), view, threshold=100.0)
    bench.at(21.0).happens()
    assert bench.running["v"].upto == 8.0
    bench.at(22.0).finishes("v")
    assert reservation(bench).next_release == 24.0


def test_a_table_that_is_not_behind_its_threshold_stays_in_normal_mode() -> None:
    bench = adaptive(fed("v"))
    bench.at(10.0).arrives("v", 2.0, 5.0, 8.0)
    assert reservation(bench).mode is Mode.NORMAL


def test_rule_i_releases_the_first_update_at_the_change_of_mode() -> None:
    bench = adaptive(fed("v"))
    assert bench.at(14.0).arrives("v", 1.0, *BACKLOG) == ["v"]
    found = reservation(bench)
    assert (found.mode, found.reweighted_by) == (Mode.RECOVERY, "i")
    assert (found.released_at, found.deadline) == (14.0, 14.0 + RECOVERY)


def loaded_once(*others: ScheduledTable) -> Bench:
    """The first update is released at 1, due at 4, and ends at 2."""
    bench = adaptive(fed("v"), *others)
    bench.at(1.0).arrives("v", 1.0)
    bench.at(2.0).finishes("v")
    return bench


def test_rule_ii_releases_the_next_update_at_the_change_of_mode_if_the_last_deadline_has_passed() -> None:
    bench = loaded_once()
    assert bench.at(14.0).arrives("v", *BACKLOG) == ["v"]
    found = reservation(bench)
    assert (found.reweighted_by, found.released_at, found.deadline) == ("ii", 14.0, 15.5)


def test_rule_iii_releases_the_next_update_at_the_last_deadline_if_that_is_near() -> None:
    bench = loaded_once()
    assert bench.at(3.0).arrives("v", *BACKLOG) == []
    assert (reservation(bench).reweighted_by, reservation(bench).next_release) == ("iii", 4.0)
    assert bench.at(4.0).timer() == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (4.0, 5.5)


def test_rule_iv_brings_the_last_deadline_near_if_it_is_far() -> None:
    bench = loaded_once()
    assert bench.at(2.25).arrives("v", *BACKLOG) == []
    assert (reservation(bench).reweighted_by, reservation(bench).next_release) == ("iv", 3.75)
    assert bench.at(3.75).timer() == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (3.75, 5.25)


def test_rule_iv_lets_a_waiting_update_overtake() -> None:
    bench = adaptive(fed("blocker", alpha=0.1), fed("w", period=2.8, alpha=0.1), fed("v"))
    bench.at(0.5).arrives("blocker", 0.5)
    bench.at(1.0).arrives("v", 1.0)
    bench.at(1.1).arrives("w", 1.1)
    bench.at(2.0).arrives("v", *BACKLOG)
    assert (reservation(bench).released_at, reservation(bench).deadline) == (2.0, 3.5)
    assert bench.at(2.5).finishes("blocker") == ["v"]


def started_at(moment: float) -> Bench:
    """The first update is released at 1, due at 4, and starts only when a track is given back."""
    bench = adaptive(fed("blocker", alpha=0.1), fed("v"))
    bench.at(0.5).arrives("blocker", 0.5)
    bench.at(1.0).arrives("v", 1.0)
    assert bench.at(moment).finishes("blocker") == ["v"]
    return bench


def test_rule_v_releases_the_next_update_at_the_change_of_mode_if_the_running_one_is_late() -> None:
    bench = started_at(3.5)
    bench.at(5.0).arrives("v", *BACKLOG)
    assert reservation(bench).reweighted_by == "v"
    assert bench.at(6.0).finishes("v") == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (5.0, 6.5)


def test_rule_vi_releases_the_next_update_at_the_deadline_of_the_running_one_if_that_ends_late() -> None:
    bench = started_at(3.5)
    bench.at(3.75).arrives("v", *BACKLOG)
    assert bench.at(4.5).finishes("v") == ["v"]
    found = reservation(bench)
    assert (found.reweighted_by, found.released_at, found.deadline) == ("vi", 4.0, 5.5)


def test_rule_vii_keeps_a_distance_to_a_running_update_that_ends_in_time() -> None:
    """As in Example 10: 18 (1 - 1.5/3) + 16 (1.5/3) + 1.5 = 18.5."""
    bench = adaptive(fed("v", freshness=13.0), threshold=5.0)
    bench.at(16.0).arrives("v", 16.0)
    bench.at(17.5).arrives("v", 17.0, 17.5, 19.0)
    assert bench.at(18.0).finishes("v") == []
    assert (reservation(bench).reweighted_by, reservation(bench).next_release) == ("vii", 18.5)


def test_rule_rn_goes_back_to_normal_mode_at_the_deadline_of_the_update_that_left_nothing_to_load() -> None:
    bench = adaptive(fed("v"))
    bench.at(14.0).arrives("v", 13.0)
    assert reservation(bench).mode is Mode.RECOVERY
    bench.at(14.5).finishes("v")
    assert (reservation(bench).mode, wakes(bench.commands)) == (Mode.RECOVERY, [15.5])
    bench.at(15.5).timer()
    assert reservation(bench).mode is Mode.NORMAL


def test_rule_rn_goes_back_at_the_end_of_an_update_that_ended_late() -> None:
    bench = adaptive(fed("v"))
    bench.at(14.0).arrives("v", 13.0)
    bench.at(16.0).finishes("v")
    assert reservation(bench).mode is Mode.NORMAL


def test_after_rule_rn_the_next_update_is_due_a_whole_period_after_its_release() -> None:
    bench = adaptive(fed("v"))
    bench.at(14.0).arrives("v", 13.0)
    bench.at(14.5).finishes("v")
    bench.at(15.0).arrives("v", 15.0)
    assert bench.at(15.5).timer() == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (15.5, 15.5 + PERIOD)


def both_arrive(bench: Bench, one: str, files: tuple[float, ...], other: str, more: tuple[float, ...]) -> None:
    bench.at(14.0).happens(*(arrival(one, stamp) for stamp in files), *(arrival(other, stamp) for stamp in more))


def modes(bench: Bench, *names: str) -> list[Mode]:
    return [reservation(bench, name).mode for name in names]


def test_condition_6_lets_in_only_what_the_tracks_can_carry() -> None:
    """Example 9: one of two tables with 1/3 each, whose recovery takes 1/3 more, fits on one track."""
    bench = adaptive(fed("v1"), fed("v2"))
    both_arrive(bench, "v1", BACKLOG, "v2", BACKLOG)
    assert modes(bench, "v1", "v2") == [Mode.RECOVERY, Mode.NORMAL]


def test_on_two_tracks_both_may_recover() -> None:
    bench = adaptive(fed("v1"), fed("v2"), tracks=2)
    both_arrive(bench, "v1", BACKLOG, "v2", BACKLOG)
    assert modes(bench, "v1", "v2") == [Mode.RECOVERY, Mode.RECOVERY]


@pytest.mark.parametrize(("arbitration", "recovers"), [("share", "cheap"), ("priority", "important")])
def test_arbitration_says_who_recovers_first(arbitration: str, recovers: str) -> None:
    bench = adaptive(fed("important", priority=10.0), fed("cheap", alpha=0.9), arbitration=arbitration)
    both_arrive(bench, "important", BACKLOG, "cheap", BACKLOG)
    assert [name for name in ("important", "cheap") if reservation(bench, name).mode is Mode.RECOVERY] == [recovers]


def test_who_was_not_let_in_enters_when_another_leaves() -> None:
    bench = adaptive(fed("v1"), fed("v2"))
    both_arrive(bench, "v1", (13.0,), "v2", BACKLOG)
    bench.at(15.0).finishes("v1")
    assert modes(bench, "v1", "v2") == [Mode.RECOVERY, Mode.NORMAL]
    bench.at(15.5).timer()
    assert modes(bench, "v1", "v2") == [Mode.NORMAL, Mode.RECOVERY]


def test_without_a_threshold_the_own_bound_of_the_table_is_one() -> None:
    """One table on one track: Y = 1, Theta = 3 + 1, A = 4 + 3 + 3."""
    bench = adaptive(fed("v"), threshold=None)
    bench.at(14.0).arrives("v", 10.0)
    assert reservation(bench).mode is Mode.NORMAL
    bench.at(14.5).arrives("v", 10.5)
    assert reservation(bench).mode is Mode.RECOVERY


def test_a_paused_table_gives_up_recovery_and_its_share() -> None:
    bench = adaptive(fed("v1"), fed("v2"))
    both_arrive(bench, "v1", BACKLOG, "v2", BACKLOG)
    bench.at(14.2).pauses("v1")
    assert modes(bench, "v1", "v2") == [Mode.NORMAL, Mode.RECOVERY]


def test_a_failed_update_keeps_its_deadline_when_it_is_tried_again() -> None:
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0)
    bench.at(1.5).fails("v")
    (retry,) = wakes(bench.commands)
    assert bench.at(retry).timer() == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (1.0, 4.0)


def test_a_first_backlog_is_loaded_as_a_whole() -> None:
    bench = adaptive(fed("v", freshness=None))
    bench.at(14.0).arrives("v", 1.0, *BACKLOG)
    assert bench.running["v"].upto == BACKLOG[-1]


def test_a_table_that_waits_for_its_release_says_so_and_is_not_idle() -> None:
    bench = adaptive(fed("v"))
    bench.at(1.0).arrives("v", 1.0, 2.0)
    bench.at(2.0).finishes("v")
    assert "in normal mode there is one every 3s" in str(bench.scheduler.look("v").waits)
    assert not bench.scheduler.idle


def test_what_cannot_be_reserved_is_told_with_its_numbers() -> None:
    bench = adaptive(fed("v1", alpha=2.0), fed("v2", alpha=2.5), recovery="fastest")
    (breach,) = bench.scheduler.breaches
    assert breach.tracks_needed == 2
    assert "1.5 tracks" in breach.reason
    assert "'v2'" in breach.reason


# What is reserved follows what updates take


def learning(*tables: ScheduledTable, **settings: Any) -> Bench:
    """Updates of ten seconds, once in a hundred, of which nothing has been learnt yet."""
    told: dict[str, Any] = {"recovery": "fastest", "threshold": 1_000.0, "costs": "worst"}
    return adaptive(*tables, **told | settings)


def updated(bench: Bench, *durations: float, since: float = 0.0, name: str = "v") -> float:
    """A file a period comes and is loaded in so many seconds; the moment after the last one."""
    for seconds in durations:
        since += 100.0
        bench.at(since).arrives(name, since)
        bench.at(since + seconds).finishes(name, seconds=seconds)
    return since


def test_reservations_by_worst_costs_follow_the_spread_although_the_mean_stays() -> None:
    bench = learning(table("v", alpha=10.0, period=100.0, freshness=0.0, safe=0.0), recovery="together")
    updated(bench, *[10.0] * 30)
    assert reservation(bench).execution == pytest.approx(10.0)
    updated(bench, *[4.0, 16.0] * 15, since=3_000.0)
    model = bench.scheduler.cost("v")
    assert model.expected(100.0) == pytest.approx(10.0, rel=0.1)
    assert reservation(bench).execution == pytest.approx(model.longest(100.0), rel=0.5)
    assert reservation(bench).execution > 20.0


def test_reservations_by_average_costs_do_not_follow_the_spread() -> None:
    bench = learning(
        table("v", alpha=10.0, period=100.0, freshness=0.0, safe=0.0), costs="average", recovery="together"
    )
    updated(bench, *[10.0] * 30)
    updated(bench, *[4.0, 16.0] * 15, since=3_000.0)
    assert reservation(bench).execution == pytest.approx(10.0, rel=0.2)


def test_a_recovery_period_by_formula_grows_with_the_cost_before_all_is_reserved_anew() -> None:
    """Alone on a track a table recovers with a period as long as its update: 12 s where there were 10."""
    bench = learning(table("v", alpha=10.0, period=100.0, freshness=0.0, safe=0.0), costs="average", threshold=250.0)
    since = updated(bench, *[12.0] * 20)
    bench.at(since + 400.0).arrives("v", since + 100.0, since + 200.0, since + 300.0, since + 400.0)
    assert reservation(bench).mode is Mode.RECOVERY
    assert reservation(bench).period == pytest.approx(12.0)
    assert bench.scheduler.breaches == []


def test_a_given_recovery_period_that_updates_have_outgrown_is_told() -> None:
    bench = learning(table("v", alpha=10.0, period=100.0, freshness=0.0, safe=0.0), costs="average", recovery=11.0)
    assert bench.scheduler.breaches == []
    updated(bench, *[12.0] * 20)
    assert [breach.table for breach in bench.scheduler.breaches] == ["v"]
    updated(bench, *[9.0] * 60, since=3_000.0)
    assert bench.scheduler.breaches == []


# Tracks that are idle


def behind(*others: ScheduledTable, tracks: int = 1, **settings: Any) -> Bench:
    """A table that enters recovery mode at 20 with four files, each of which takes 1; its deadlines lie 1.5 apart."""
    bench = adaptive(fed("v"), *others, tracks=tracks, **{"early": True} | settings)
    bench.at(1.0).arrives("v", 1.0)
    bench.at(2.0).finishes("v")
    assert bench.at(20.0).arrives("v", *BACKLOG) == ["v"]
    assert reservation(bench).mode is Mode.RECOVERY
    return bench


def test_a_table_that_has_fallen_behind_uses_a_track_that_is_idle() -> None:
    bench = behind()
    assert bench.at(21.0).finishes("v") == ["v"]
    assert reservation(bench).runs_early
    assert bench.running["v"].upto == BACKLOG[1], "one file at a time, as ever"


def test_without_it_the_track_stays_idle_until_the_next_release() -> None:
    bench = behind(early=False)
    assert bench.at(21.0).finishes("v") == []
    assert bench.at(21.5).timer() == ["v"]


def test_what_is_released_comes_as_if_nothing_had_run_early() -> None:
    bench = behind()
    bench.at(21.0).finishes("v")
    bench.at(21.5).timer()
    assert bench.at(22.0).finishes("v") == ["v"]
    assert (reservation(bench).released_at, reservation(bench).deadline) == (21.5, 23.0)
    assert not reservation(bench).runs_early


def test_an_early_update_waits_for_all_that_is_released() -> None:
    bench = behind(fed("w"))
    bench.at(20.5).arrives("w", 20.0)
    assert bench.at(21.0).finishes("v") == ["w"]
    assert bench.at(21.2).finishes("w") == ["v"]


def test_one_that_waits_to_be_let_into_recovery_mode_uses_idle_tracks_too() -> None:
    bench = adaptive(fed("v"), fed("w"), early=True)
    bench.at(1.0).arrives("v", 1.0)
    bench.at(2.0).finishes("v")
    bench.at(2.0).arrives("w", 1.0)
    bench.at(3.0).finishes("w")
    bench.at(20.0).happens(*(arrival(name, stamp) for name in ("v", "w") for stamp in BACKLOG))
    assert (reservation(bench, "v").mode, reservation(bench, "w").mode) == (Mode.RECOVERY, Mode.NORMAL)
    bench.at(20.2).finishes("v")
    assert bench.at(20.4).finishes("w") == ["v"], "due at 23, before the one of w at 26"
    assert bench.at(20.6).finishes("v") == ["v"]


def test_a_table_that_is_not_behind_waits_for_its_release_whatever_is_idle() -> None:
    bench = adaptive(fed("v"), early=True)
    bench.at(1.0).arrives("v", 1.0)
    bench.at(2.0).finishes("v")
    assert bench.at(3.0).arrives("v", 3.0) == []


def test_an_early_update_that_fails_is_tried_again_and_its_release_is_not_lost() -> None:
    bench = behind()
    bench.at(21.0).finishes("v")
    bench.at(21.2).fails("v")
    assert bench.at(22.2).timer() == ["v"]
    assert (reservation(bench).released_at, bench.running["v"].upto) == (21.5, BACKLOG[1])
    assert bench.at(22.5).finishes("v") == ["v"]
    assert reservation(bench).runs_early


def test_a_table_that_has_caught_up_early_goes_back_to_normal_mode_at_its_last_deadline() -> None:
    bench = behind()
    for moment in (20.2, 20.4, 20.6, 20.8):
        bench.at(moment).finishes("v")
    assert bench.running == {}
    assert bench.at(21.5).timer() == []
    assert reservation(bench).mode is Mode.NORMAL
    assert bench.at(22.0).arrives("v", 22.0) == ["v"]
