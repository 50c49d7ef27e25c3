"""What the simulator tells the scheduler, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.scheduling import GlobalAllocation, Policy
from freshtide.simulation import CompletedUpdate, SimulatedTable, Simulation, Slowdown, Stream, Workload

UNCHOPPED = Policy(allocation=GlobalAllocation(), chopping=None)


def listed(name: str, *files: tuple[float, float], seconds: float) -> SimulatedTable:
    return SimulatedTable(name=name, stream=Stream(period=10.0, arrivals=files), alpha=seconds)


def updates(*tables: SimulatedTable, policy: Policy = UNCHOPPED) -> list[CompletedUpdate]:
    """Of one track, until nothing is left to do."""
    done: list[CompletedUpdate] = []
    Simulation(Workload(tables=tables), policy, tracks=1, checking=True).run(on_update=done.append)
    return done


def test_files_that_come_at_one_moment_are_loaded_together() -> None:
    [update] = updates(listed("a", (5.0, 1.0), (5.0, 2.0), (5.0, 3.0), seconds=4.0))
    assert (update.start, update.end, update.upto) == (5.0, 9.0, 3.0)


def test_what_comes_while_all_tracks_are_busy_is_not_lost() -> None:
    first, second, third = updates(
        listed("a", (1.0, 1.0), seconds=10.0),
        listed("b", (2.0, 2.0), (3.0, 3.0), (4.0, 4.0), seconds=1.0),
        listed("c", (5.0, 5.0), seconds=1.0),
        policy=Policy(ordering="fifo", allocation=GlobalAllocation(), chopping=None),
    )
    assert (first.table, first.end) == ("a", 11.0)
    assert (second.table, second.start, second.upto) == ("b", 11.0, 4.0)
    assert (third.table, third.start) == ("c", 12.0)


@pytest.mark.parametrize("events", [0, 1, 2, 7])
def test_a_run_ends_after_so_many_arrivals_and_completions(events: int) -> None:
    tables = (SimulatedTable(name="t", stream=Stream(period=10.0), alpha=1.0),)
    result = Simulation(Workload(tables=tables), Policy(), tracks=1, checking=True).run(events=events)
    assert result.events == events
    assert result.staleness["t"].updates == events // 2


@given(
    st.builds(Slowdown, factor=st.just(3.0), normal=st.floats(0.1, 1e4), slow=st.floats(0.1, 1e4)),
    st.floats(0.0, 1e6),
    st.floats(0.0, 1.0, exclude_max=True),
)
def test_a_machine_is_as_slow_for_as_long_as_it_says(slowdown: Slowdown, time: float, share: float) -> None:
    steady_until = slowdown.steady_until(time)
    # Close to a change it may not be able to say.
    later = max(time, time + share * (steady_until - time))
    assert later == time or slowdown.factor_at(later) == slowdown.factor_at(time)
    assert steady_until <= time + max(slowdown.normal, slowdown.slow)


def test_an_update_takes_one_of_the_factors_and_all_of_them_are_drawn() -> None:
    table = SimulatedTable(name="t", stream=Stream(period=100.0), alpha=2.0, factors=(0.5, 1.0, 3.0))
    other = SimulatedTable(name="u", stream=Stream(period=100.0), alpha=1.0)
    done: list[CompletedUpdate] = []
    workload = Workload(tables=(table, other), seed=4, variability=0.25)
    Simulation(workload, UNCHOPPED, tracks=2).run(horizon=30_000.0, on_update=done.append)
    took = [update.end - update.start for update in done if update.table == "t"]
    assert {round(seconds, 6) for seconds in took} == {1.0, 2.0, 6.0}
    assert sum(took) / len(took) == pytest.approx(3.0, rel=0.15)
    # One without factors has the variability of all.
    others = [update.end - update.start for update in done if update.table == "u"]
    assert min(others) == pytest.approx(0.75, abs=0.02)
    assert max(others) == pytest.approx(1.25, abs=0.02)
