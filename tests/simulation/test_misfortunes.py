"""Updates that fail, and a warehouse that stops and starts again, under the scheduler of the warehouse."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.costs import CostModel
from freshtide.scheduling import GlobalAllocation, Policy, RetryPolicy
from freshtide.simulation import (
    CompletedUpdate,
    Failures,
    Result,
    SimulatedTable,
    Simulation,
    Standing,
    Stream,
    Workload,
)
from tests.examples import examples

GLOBAL = Policy(allocation=GlobalAllocation(), chopping=None)
PATIENT = RetryPolicy(attempts=10_000, backoff=0.5, longest=2.0)


def listed(
    name: str, *stamps: float, seconds: float, failures: Failures | None = None, priority: float = 1.0
) -> SimulatedTable:
    stream = Stream(period=10.0, arrivals=tuple((stamp, stamp) for stamp in stamps))
    return SimulatedTable(name=name, stream=stream, alpha=seconds, failures=failures, priority=priority)


def ran(workload: Workload, *, tracks: int = 1, horizon: float = math.inf) -> tuple[list[CompletedUpdate], Result]:
    done: list[CompletedUpdate] = []
    result = Simulation(workload, GLOBAL, tracks=tracks, checking=True).run(horizon=horizon, on_update=done.append)
    return done, result


def spans(updates: list[CompletedUpdate], table: str) -> list[tuple[float, float, float]]:
    return [(update.start, update.end, update.upto) for update in updates if update.table == table]


def test_a_failed_update_is_tried_again_after_a_while_and_others_get_its_track() -> None:
    done, result = ran(
        Workload(
            tables=(
                listed("a", 10.0, seconds=2.0, priority=9.0, failures=Failures(during=((11.0, 11.0),))),
                listed("b", 10.0, seconds=3.0),
            )
        )
    )
    # From 10 to 12 in vain; due again at 13, when b has the track.
    assert spans(done, "b") == [(12.0, 15.0, 10.0)]
    assert spans(done, "a") == [(15.0, 17.0, 10.0)]
    assert result.failures == {"a": 1, "b": 0}
    assert result.utilisation == pytest.approx((7.0 / 17.0,))


def test_a_table_that_fails_too_often_is_given_up_and_goes_on_when_its_user_resumes_it() -> None:
    broken = Failures(during=((0.0, 60.0),), resumed_after=100.0)
    done, result = ran(Workload(tables=(listed("a", 10.0, 30.0, 200.0, seconds=2.0, failures=broken),)))
    # 10 to 12, 13 to 15, 17 to 19, 23 to 25, and given up.
    assert spans(done, "a") == [(125.0, 127.0, 30.0), (200.0, 202.0, 200.0)]
    assert result.failures == {"a": 4}
    assert list(result.staleness["a"].ends) == [127.0, 202.0 - 30.0, 2.0]
    done, result = ran(
        Workload(tables=(listed("a", 10.0, 200.0, seconds=2.0, failures=Failures(during=((0.0, 60.0),))),))
    )
    assert done == []


def test_so_many_updates_fail_as_are_said_to_and_the_others_take_as_long_as_without() -> None:
    table = SimulatedTable(name="t", stream=Stream(period=100.0), alpha=5.0)
    failing = SimulatedTable(name="t", stream=Stream(period=100.0), alpha=5.0, failures=Failures(share=0.2))
    seen = []
    for each in (table, failing):
        done: list[CompletedUpdate] = []
        workload = Workload(tables=(each,), seed=3, variability=0.5)
        result = Simulation(workload, GLOBAL, tracks=1, retry=PATIENT).run(horizon=1e6, on_update=done.append)
        seen.append(([update.end - update.start for update in done], result.failures["t"]))
    (takes, none), (_, failed) = seen
    assert none == 0
    # Each of some 10,000 files is tried until it is loaded: one in five tries fails, within four standard deviations.
    assert failed / (len(takes) + failed) == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / 12_500))


def test_what_ran_is_lost_with_a_stop_and_what_came_meanwhile_is_found_at_the_start() -> None:
    table = SimulatedTable(name="t", stream=Stream(period=10.0), alpha=3.0)
    done, result = ran(Workload(tables=(table,), stops=((21.0, 45.0),)), horizon=60.0)
    assert spans(done, "t") == [(10.0, 13.0, 10.0), (45.0, 48.0, 40.0), (50.0, 53.0, 50.0)]
    assert result.staleness["t"].maximum == 48.0 - 10.0
    # 20 to 21 was in vain, and from 60 on is beyond the end.
    assert result.utilisation == pytest.approx(((3.0 + 1.0 + 3.0 + 3.0) / 60.0,))


def test_a_warehouse_that_does_not_start_again_leaves_its_tables_as_they_are() -> None:
    table = SimulatedTable(name="t", stream=Stream(period=10.0), alpha=3.0)
    done, result = ran(Workload(tables=(table,), stops=((11.0, 900.0),)), horizon=60.0)
    assert done == []
    assert result.staleness["t"].final == 60.0
    assert result.utilisation == pytest.approx((1.0 / 60.0,))


def test_what_was_learnt_outlives_a_stop() -> None:
    table = SimulatedTable(name="t", stream=Stream(period=10.0), alpha=3.0, believed=CostModel())
    simulation = Simulation(Workload(tables=(table,), stops=((102.0, 500.0),)), GLOBAL, tracks=1)
    simulation.run(horizon=502.0)
    # Nine updates ended before the stop, the tenth was lost, and the next has not ended yet.
    assert simulation.scheduler.cost("t") == CostModel.learnt_from([(10.0, 3.0)] * 9)


@pytest.mark.parametrize(("resumed_after", "again"), [(None, []), (100.0, [(125.0, 127.0, 120.0)])])
def test_what_was_given_up_stays_so_over_a_stop_until_it_is_resumed(
    resumed_after: float | None, again: list[tuple[float, float, float]]
) -> None:
    broken = Failures(during=((0.0, 60.0),), resumed_after=resumed_after)
    workload = Workload(
        tables=(listed("a", 10.0, 120.0, seconds=2.0, failures=broken),), stops=((30.0, 40.0), (50.0, 70.0))
    )
    assert spans(ran(workload)[0], "a") == again
    # A user can resume a table while nothing runs, too.
    later = Workload(tables=workload.tables, stops=((30.0, 300.0),))
    assert spans(ran(later)[0], "a") == [(300.0, 302.0, 120.0) for _ in again]


def test_tries_are_counted_anew_after_a_stop() -> None:
    broken = Failures(during=((0.0, 46.0),))
    done, result = ran(
        Workload(tables=(listed("a", 10.0, seconds=2.0, failures=broken),), stops=((18.0, 40.0),)), horizon=100.0
    )
    # 10 to 12 and 13 to 15 failed, what began at 17 was lost; then 40 to 42, 43 to 45 and 47 to 49.
    assert spans(done, "a") == [(47.0, 49.0, 10.0)]
    assert result.failures == {"a": 4}


moments = st.lists(st.integers(1, 200), min_size=1, max_size=6, unique=True).map(
    lambda stamps: [float(stamp) for stamp in sorted(stamps)]
)


@st.composite
def worlds(draw: st.DrawFn, *, failing: bool = True) -> Workload:
    tables = []
    for number in range(draw(st.integers(1, 3))):
        failures = Failures(share=draw(st.sampled_from([0.0, 0.3, 0.7]))) if failing and draw(st.booleans()) else None
        seconds = draw(st.sampled_from([0.25, 1.5, 7.0]))
        tables.append(listed(f"b{number}", *draw(moments), seconds=seconds, failures=failures))
    for number in range(draw(st.integers(0, 2))):
        names = draw(st.lists(st.sampled_from([table.name for table in tables]), min_size=1, max_size=2, unique=True))
        tables.append(SimulatedTable(name=f"v{number}", sources=tuple(names), alpha=draw(st.sampled_from([0.5, 3.0]))))
    cuts = sorted(draw(st.lists(st.integers(1, 250), max_size=6, unique=True)))
    stops = tuple((float(start), float(end)) for start, end in zip(cuts[::2], cuts[1::2], strict=False))
    return Workload(tables=tuple(tables), stops=stops, seed=draw(st.integers(0, 9)))


@settings(max_examples=examples(80), deadline=None)
@given(worlds(), st.integers(1, 3))
def test_whatever_fails_or_stops_all_is_loaded_in_the_end_and_nothing_runs_during_a_stop(
    workload: Workload, tracks: int
) -> None:
    done: list[CompletedUpdate] = []
    simulation = Simulation(workload, GLOBAL, tracks=tracks, retry=PATIENT, checking=True)
    simulation.run(horizon=5_000.0, on_update=done.append)
    reached: dict[str, float] = {}
    for table in workload.tables:
        stream = table.stream
        newest = (
            min(reached[source] for source in table.sources)
            if stream is None
            else max(stamp for _, stamp in stream.arrivals or ())
        )
        reached[table.name] = max(update.upto for update in done if update.table == table.name)
        assert reached[table.name] == newest
    for update in done:
        assert all(update.end <= start or end <= update.start for start, end in workload.stops)


@settings(max_examples=examples(40), deadline=None)
@given(worlds(failing=False))
def test_a_stop_in_a_quiet_moment_is_like_feeds_that_hold_everything_back(workload: Workload) -> None:
    """Nothing is lost then, so that all there is to it is that files come when the stop is over."""
    quiet = ((1_000.0, 1_500.0),)
    late = tuple(1_000.0 + 7.0 * number for number in range(40))
    tables = tuple(
        table
        if table.stream is None
        else listed(table.name, *(stamp for _, stamp in table.stream.arrivals or ()), *late, seconds=table.alpha)
        for table in workload.tables
    )
    held_back = tuple(
        table
        if table.stream is None
        else SimulatedTable(
            name=table.name,
            alpha=table.alpha,
            stream=Stream(
                period=10.0,
                arrivals=tuple(
                    (1_500.0 if 1_000.0 <= moment <= 1_500.0 else moment, stamp)
                    for moment, stamp in table.stream.arrivals or ()
                ),
            ),
        )
        for table in tables
    )
    stopped, _ = ran(Workload(tables=tables, stops=quiet), tracks=2)
    waited, _ = ran(Workload(tables=held_back), tracks=2)
    assert stopped == waited


@settings(max_examples=examples(60), deadline=None)
@given(worlds(failing=False))
def test_a_simulation_that_starts_from_how_tables_stand_goes_on_as_if_it_had_never_been_away(
    workload: Workload,
) -> None:
    """Updates before and after a moment at which nothing ran are those of one simulation and of a second one."""
    middle = 600.0
    later = tuple(700.0 + 7.0 * number for number in range(9))
    tables = [
        table
        if table.stream is None
        else listed(table.name, *(s for _, s in table.stream.arrivals or ()), *later, seconds=table.alpha)
        for table in workload.tables
    ]
    whole, _ = ran(Workload(tables=tuple(tables)), tracks=2)
    first = [update for update in whole if update.end <= middle]
    standing = {
        table.name: max((update.upto for update in first if update.table == table.name), default=0.0) - middle
        for table in tables
    }
    second, result = ran(
        Workload(
            tables=tuple(
                SimulatedTable(
                    name=table.name,
                    sources=table.sources,
                    alpha=table.alpha,
                    stream=None
                    if table.stream is None
                    else Stream(period=10.0, arrivals=tuple((s - middle, s - middle) for s in later)),
                    standing=Standing(freshness=standing[table.name], safe=standing[table.name]),
                )
                for table in tables
            )
        ),
        tracks=2,
    )
    moved = [
        CompletedUpdate(
            update.table,
            update.track,
            update.start + middle,
            update.end + middle,
            update.before + middle,
            update.upto + middle,
        )
        for update in second
    ]
    assert moved == whole[len(first) :]
    for table in tables:
        assert result.staleness[table.name].starts[0] == -standing[table.name]


def test_what_is_pending_is_loaded_at_once_and_what_is_paused_or_has_failed_waits() -> None:
    stream = Stream(period=10.0, arrivals=((50.0, 45.0),))

    def standing(name: str, **said: bool) -> SimulatedTable:
        stood = Standing(freshness=-40.0, safe=-40.0, pending=(-30.0, -12.0), **said)
        return SimulatedTable(name=name, stream=stream, alpha=2.0, standing=stood)

    done, result = ran(
        Workload(tables=(standing("a"), standing("paused", paused=True), standing("failed", failed=True)))
    )
    assert spans(done, "a") == [(0.0, 2.0, -12.0), (50.0, 52.0, 45.0)]
    assert {update.table for update in done} == {"a"}
    assert list(result.staleness["a"].starts) == [40.0, 14.0, 7.0]
    assert result.staleness["paused"].final == 52.0 + 40.0


def test_a_table_that_was_never_loaded_counts_as_fresh_as_just_before_its_first_file() -> None:
    base = SimulatedTable(
        name="b",
        stream=Stream(period=10.0, arrivals=((30.0, 25.0),)),
        alpha=2.0,
        standing=Standing(freshness=None, safe=None, pending=(-100.0, -90.0)),
    )
    view = SimulatedTable(name="v", sources=("b",), alpha=1.0, standing=Standing(freshness=None, safe=None))
    done, result = ran(Workload(tables=(base, view)))
    assert spans(done, "b") == [(0.0, 2.0, -90.0), (30.0, 32.0, 25.0)]
    assert spans(done, "v") == [(2.0, 3.0, -90.0), (32.0, 33.0, 25.0)]
    assert result.staleness["b"].maximum == 122.0
    assert result.staleness["v"].maximum == 123.0
    assert result.flow().tables["b"].low == 10.0**2 + 10.0**2 + 115.0**2


@pytest.mark.parametrize("stops", [((5.0, 5.0),), ((5.0, 9.0), (1.0, 2.0)), ((1.0, 5.0), (5.0, 6.0))])
def test_stops_are_intervals_one_after_the_other(stops: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="start"):
        Workload(tables=(), stops=stops)
