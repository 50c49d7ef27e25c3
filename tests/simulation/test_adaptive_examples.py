"""The worked examples of Leontyev et al. 2010, by number; example 3 and the single rules are in tests/scheduling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from freshtide.scheduling import Adaptive, adaptive_policy
from freshtide.simulation import CompletedUpdate, Result, SimulatedTable, Simulation, Stream, Workload

REGULAR = tuple((float(stamp), float(stamp)) for stamp in range(1, 40, 3))
"""Example 1, feed D_2: a file every 3 from 1 on, stamped when it comes."""
BROKEN = tuple((max(moment, 10.0) if moment > 1.0 else moment, stamp) for moment, stamp in REGULAR)
"""Example 1, feed D_1: down during [4, 10), so that the files stamped 4, 7 and 10 come at 10."""


@dataclass(frozen=True, slots=True)
class Update:
    """In the paper's words r, d, s, f and the freshness reached."""

    released: float
    deadline: float
    started: float
    ended: float
    freshness: float


Run = tuple[dict[str, list[Update]], Result]


def run(
    feeds: dict[str, tuple[float, tuple[tuple[float, float], ...]]], adaptive: Adaptive, *, horizon: float = 38.0
) -> Run:
    """Feeds by table, each with its period; updates take 1 on one track."""
    tables = tuple(
        SimulatedTable(name=name, stream=Stream(period=period, arrivals=files), alpha=1.0)
        for name, (period, files) in feeds.items()
    )
    simulation = Simulation(Workload(tables=tables), adaptive_policy(adaptive), tracks=1, checking=True)
    updates: dict[str, list[Update]] = {name: [] for name in feeds}

    def note(update: CompletedUpdate) -> None:
        reserved = simulation.scheduler.look(update.table).reservation
        assert reserved is not None
        updates[update.table].append(
            Update(reserved.released_at, reserved.deadline, update.start, update.end, update.upto)
        )

    result = simulation.run(horizon=horizon, on_update=note)
    return updates, result


def never(*, recovery: float = 1.0) -> Adaptive:
    """No table ever enters recovery mode: the periods of examples 4 to 7 do not change."""
    return Adaptive(recovery=recovery, threshold=1_000.0, early=False)


def quickly() -> Run:
    """Figure 5 (a): T_1 may run once per time unit."""
    return run({"v1": (1.0, BROKEN), "v2": (3.0, REGULAR)}, never())


def evenly() -> Run:
    """Figure 5 (b): T_1 may run once per 1.5."""
    return run({"v1": (1.5, BROKEN), "v2": (3.0, REGULAR)}, never())


def test_example_1_three_files_are_pending_when_the_feed_is_back() -> None:
    at_ten = [stamp for moment, stamp in BROKEN if moment == 10.0]
    assert at_ten == [4.0, 7.0, 10.0]
    updates, _ = evenly()
    assert [update.freshness for update in updates["v1"][1:4]] == at_ten


def test_example_4_the_first_updates_and_their_deadlines() -> None:
    updates, _ = quickly()
    assert (updates["v1"][0].released, updates["v1"][0].deadline) == (1.0, 2.0)
    assert (updates["v2"][0].released, updates["v2"][0].deadline) == (1.0, 4.0)


@pytest.mark.parametrize(("schedule", "third_release"), [(quickly, 11.0), (evenly, 11.5)])
def test_example_5_files_held_up_are_loaded_one_per_period(schedule: Callable[[], Run], third_release: float) -> None:
    updates, _ = schedule()
    second, third = updates["v1"][1:3]
    assert (second.ended, second.freshness) == (11.0, 4.0)
    assert third.released == third_release


def test_example_6_staleness_of_the_healthy_table() -> None:
    updates, _ = evenly()
    first = updates["v2"][0]
    assert (first.released, first.started, first.ended, first.freshness) == (1.0, 2.0, 3.0, 1.0)
    fourth = updates["v2"][3]
    assert (fourth.released, fourth.ended, fourth.ended - fourth.freshness) == (10.0, 12.0, 2.0)


def test_example_7_a_quick_recovery_is_at_the_expense_of_the_other_table() -> None:
    """The paper's figure 5 (a) prefers T_1 always, and T_2 waits until 15; by deadlines it waits until 14."""
    (quick, quick_result), (even, even_result) = quickly(), evenly()
    assert [schedule["v2"][3].ended for schedule in (quick, even)] == [14.0, 12.0]
    assert quick["v1"][3].ended < even["v1"][3].ended
    before = even_result.staleness["v2"].maximum
    assert quick_result.staleness["v2"].maximum > before
    # The regular staleness: a file every 3, loaded within 2.
    assert before == 5.0


def recovering() -> dict[str, list[Update]]:
    """Examples 8 to 10: both feeds break, recovery periods 1.5, thresholds 8."""
    updates, _ = run({"v1": (3.0, BROKEN), "v2": (3.0, BROKEN)}, Adaptive(recovery=1.5, threshold=8.0, early=False))
    return updates


def test_example_8_normal_mode_before_the_outage() -> None:
    for updates in recovering().values():
        assert (updates[0].released, updates[0].deadline) == (1.0, 4.0)


def test_example_9_only_the_first_table_recovers_at_first() -> None:
    updates = recovering()
    assert [update.released for update in updates["v1"][1:6]] == [10.0, 11.5, 13.0, 14.5, 16.0]
    assert [update.released for update in updates["v2"][1:4]] == [10.0, 13.0, 16.0]


def test_example_10_the_second_table_recovers_when_the_first_is_back_to_normal() -> None:
    updates = recovering()
    sixth, seventh = updates["v1"][5:7]
    assert (sixth.ended, sixth.deadline, sixth.freshness) == (17.0, 17.5, 16.0)
    assert seventh.released == 19.0
    fourth, fifth = updates["v2"][3:5]
    assert (fourth.started, fourth.ended) == (17.0, 18.0)
    assert fifth.released == 18.5
    # With the eighth update of V_2 both have recovered, and from 25 on all is as before.
    assert updates["v2"][7].freshness == 22.0
    for released in ([update.released for update in updates[name][8:12]] for name in updates):
        assert released == [25.0, 28.0, 31.0, 34.0]
