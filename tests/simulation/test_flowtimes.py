"""Stretch, LOW and penalty (Bateni et al. 2009, section 2), against an account made from the trace of the run."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.scheduling import ORDERINGS, GlobalAllocation, GroupAndRun, Policy
from freshtide.simulation import (
    CompletedUpdate,
    Lateness,
    Result,
    SimulatedTable,
    Simulation,
    Stream,
    Workload,
)
from tests.examples import examples

Run = tuple[Result, list[CompletedUpdate]]
ROUNDING = 1.0 + 1e-9


def listed(name: str, *stamps: float, alpha: float = 0.0, beta: float = 0.0) -> SimulatedTable:
    files = tuple((stamp, stamp) for stamp in stamps)
    return SimulatedTable(name=name, stream=Stream(period=10.0, arrivals=files), alpha=alpha, beta=beta)


def run(*tables: SimulatedTable, horizon: float = math.inf, policy: Policy | None = None, tracks: int = 1) -> Run:
    trace: list[CompletedUpdate] = []
    fifo = Policy(ordering="fifo", allocation=GlobalAllocation(), chopping=None)
    simulation = Simulation(Workload(tables=tables), policy or fifo, tracks=tracks, checking=True)
    return simulation.run(horizon=horizon, on_update=trace.append), trace


def test_figure_1_two_batches_the_second_of_two_updates() -> None:
    """Updates up to 4, 10 and 12; the first is done at 6, the others are batched because of another table: at 20."""
    result, trace = run(listed("i", 4.0, 10.0, 12.0, alpha=2.0), listed("other", 9.0, alpha=9.0))
    assert [(u.end, u.upto) for u in trace if u.table == "i"] == [(6.0, 4.0), (20.0, 12.0)]
    flow = result.flow().tables["i"]
    assert flow.stretch == max(6 / 4, (20 - 4) / 6, (20 - 10) / 2)
    assert flow.low == 4**2 + 6**2 + 2**2
    assert flow.penalty == 6**2 + (20 - 4) ** 2


def test_what_has_not_arrived_is_not_in_low_and_what_has_not_been_loaded_not_in_the_rest() -> None:
    result, _ = run(listed("t", 4.0, 10.0, 30.0, alpha=3.0), horizon=12.0)
    flow = result.flow()
    assert flow.low == 4**2 + 6**2
    assert flow.penalty == 7**2
    assert flow.stretch == 7 / 4
    assert flow.staleness_over_half_low == pytest.approx((7**2 + 8**2 - 3**2) / (4**2 + 6**2))


def test_without_data_there_is_nothing_to_compare_with() -> None:
    flow = run(listed("t", 50.0), horizon=12.0)[0].flow()
    assert (flow.stretch, flow.low, flow.penalty, flow.staleness_over_half_low) == (None, 0.0, 0.0, None)


def test_a_view_is_held_to_the_movements_of_its_ideal_trailing_edge() -> None:
    """Of a there is 4 and 8, of b 6: the edge could be at 4 from 6 on and at 6 from 8 on."""
    view = SimulatedTable(name="v", sources=("a", "b"), alpha=1.0)
    result, trace = run(listed("a", 4.0, 8.0), listed("b", 6.0), view, tracks=3)
    assert [(u.end, u.upto) for u in trace if u.table == "v"] == [(7.0, 4.0), (9.0, 6.0)]
    flow = result.flow().tables["v"]
    assert flow.low == 4**2 + 2**2
    assert flow.stretch == max(7 / 4, (9 - 4) / 2)
    assert flow.penalty == 7**2 + 5**2


def test_a_view_of_views_goes_back_to_the_base_tables() -> None:
    tables = (
        listed("a", 4.0, 8.0),
        listed("b", 6.0),
        SimulatedTable(name="u", sources=("a",), alpha=0.0),
        SimulatedTable(name="v", sources=("u", "b"), alpha=0.0),
    )
    assert run(*tables)[0].flow().tables["v"].low == 4**2 + 2**2


def test_time_stamps_out_of_order_are_sorted() -> None:
    files = ((10.0, 10.0), (11.0, 4.0), (20.0, 20.0))
    late = SimulatedTable(name="t", stream=Stream(period=10.0, arrivals=files), alpha=1.0)
    flow = run(late)[0].flow()
    assert flow.low == 4**2 + 6**2 + 10**2
    # 4 is reached with 10, when the first file has been loaded; what comes later gains no freshness.
    assert flow.stretch == pytest.approx(max(11 / 4, 7 / 6, 11 / 10))
    assert flow.penalty == pytest.approx(11**2 + 11**2)


def test_tables_of_a_group_count_one_by_one() -> None:
    group = SimulatedTable(
        name="g",
        stream=Stream(period=10.0, arrivals=((4.0, 4.0),)),
        alpha=1.0,
        members=("x", "y"),
        member_priorities=(1.0, 1.0),
    )
    alone = run(listed("x", 4.0, alpha=1.0))[0].flow()
    together = run(group)[0].flow()
    assert set(together.tables) == {"x", "y"}
    assert (together.low, together.penalty, together.staleness) == (
        2 * alone.low,
        2 * alone.penalty,
        2 * alone.staleness,
    )
    assert together.staleness_over_half_low == alone.staleness_over_half_low


@st.composite
def warehouses(draw: st.DrawFn) -> tuple[SimulatedTable, ...]:
    """Base tables with files at any moments, and views on anything before them."""
    tables: list[SimulatedTable] = []
    costs = st.sampled_from([0.0, 0.5, 3.0])
    for number in range(draw(st.integers(1, 4))):
        stamps = sorted(draw(st.sets(st.integers(1, 60), min_size=1, max_size=8)))
        beta = draw(st.sampled_from([0.0, 0.25]))
        tables.append(listed(f"b{number}", *map(float, stamps), alpha=draw(costs), beta=beta))
    for number in range(draw(st.integers(0, 2))):
        names = [table.name for table in tables]
        sources = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)))
        tables.append(SimulatedTable(name=f"v{number}", sources=sources, alpha=draw(costs)))
    return tuple(tables)


POLICIES = st.builds(
    Policy,
    ordering=st.sampled_from(sorted(ORDERINGS)),
    allocation=st.sampled_from([GlobalAllocation(), GroupAndRun()]),
    chopping=st.sampled_from([None, 1.0]),
)


@settings(max_examples=examples(200))
@given(warehouses(), POLICIES, st.integers(1, 3))
def test_half_of_low_is_below_staleness_and_half_of_the_penalty_above(
    tables: tuple[SimulatedTable, ...], policy: Policy, tracks: int
) -> None:
    """Section 2.2, in a run that ends when everything has been loaded."""
    result, _ = run(*tables, policy=policy, tracks=tracks)
    flow = result.flow()
    assert flow.low <= 2.0 * flow.staleness * ROUNDING
    for name, curve in result.staleness.items():
        # Up to the moment at which all of the table's data was there.
        until_then = curve.area - (curve.ends[-1] ** 2 - curve.starts[-1] ** 2) / 2.0
        assert flow.tables[name].low <= 2.0 * until_then * ROUNDING
        assert 2.0 * until_then <= flow.tables[name].penalty * ROUNDING


@settings(max_examples=examples(100))
@given(warehouses(), POLICIES, st.integers(1, 3), st.integers(5, 80))
def test_stretch_is_what_the_trace_says_update_by_update(
    tables: tuple[SimulatedTable, ...], policy: Policy, tracks: int, horizon: int
) -> None:
    result, trace = run(*tables, policy=policy, tracks=tracks, horizon=float(horizon))
    for table in tables:
        if table.stream is None or table.stream.arrivals is None:
            continue
        stretches = []
        for start, stamp in itertools.pairwise([0.0, *(stamp for _, stamp in table.stream.arrivals)]):
            done = [u.end for u in trace if u.table == table.name and u.upto >= stamp]
            stretches += [(min(done) - start) / (stamp - start)] if done else []
        assert result.flow().tables[table.name].stretch == max(stretches, default=None)


@settings(max_examples=examples(50))
@given(
    st.sampled_from(
        [
            Stream(period=10.0, pattern="quasiperiodic"),
            Stream(period=10.0, pattern="adversarial"),
            Stream(period=10.0, jitter=15.0, late=Lateness(share=0.3, by=40.0), outages=((50.0, 120.0),)),
        ]
    ),
    st.integers(0, 50),
    st.sampled_from(["fifo", "max-benefit"]),
)
def test_low_is_of_the_files_that_really_arrived(stream: Stream, seed: int, ordering: str) -> None:
    """They are drawn again after the run: each of them must be one that the run has seen."""
    tables = (SimulatedTable(name="t", stream=stream, alpha=0.0), SimulatedTable(name="v", sources=("t",), alpha=0.0))
    policy = Policy(ordering=ordering, allocation=GlobalAllocation(), chopping=None)
    trace: list[CompletedUpdate] = []
    simulation = Simulation(Workload(tables=tables, seed=seed), policy, tracks=2, checking=True)
    result = simulation.run(horizon=400.0, on_update=trace.append)
    assert result.flow().low <= 2.0 * result.flow().staleness * ROUNDING
    if stream.late is None:
        stamps = [0.0, *(u.upto for u in trace if u.table == "t")]
        expected = sum((end - start) ** 2 for start, end in itertools.pairwise(stamps))
        assert result.flow().tables["t"].low == pytest.approx(expected)
