"""All that arrives, block by block, against the streams of the tables one by one."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.simulation import Lateness, SimulatedTable, Stream
from freshtide.simulation.streams import files_until
from freshtide.simulation.timeline import timeline
from tests.examples import examples

# Whole numbers make many files come at the same moment; with horizons of thousands of periods there are several blocks.
PERIODS = st.sampled_from([1.0, 3.0, 0.7, 50.0])
STREAMS = st.one_of(
    st.builds(Stream, period=PERIODS, phase=st.sampled_from([0.0, 0.5, 2.0, 200.0])),
    st.builds(
        Stream,
        period=PERIODS,
        jitter=st.sampled_from([0.0, 10.0]),
        late=st.sampled_from([None, Lateness(share=0.5, by=20.0)]),
        outages=st.sampled_from([(), ((100.0, 400.0), (401.0, 402.0))]),
    ),
    st.builds(Stream, period=PERIODS, pattern=st.sampled_from(["quasiperiodic", "adversarial"])),
    st.builds(
        Stream,
        period=PERIODS,
        arrivals=st.lists(
            st.tuples(st.floats(0.0, 2_000.0), st.floats(0.0, 10.0)).map(lambda file: (sum(file), file[1])), max_size=5
        ).map(tuple),
    ),
    st.none(),
)


@settings(max_examples=examples(40))
@given(st.lists(STREAMS, max_size=5), st.sampled_from([0.0, 0.7, 100.0, 1_500.0]), st.integers(0, 9))
def test_all_files_come_once_in_the_order_of_their_moments_and_of_the_tables(
    streams: list[Stream | None], horizon: float, seed: int
) -> None:
    tables = [SimulatedTable(name=f"t{number}", stream=stream) for number, stream in enumerate(streams)]
    expected = [
        (moment, timestamp, table.name) for table in tables for moment, timestamp in files_until(table, seed, horizon)
    ]
    *arrivals, (end, _, nobody) = timeline([(table, table.name) for table in tables], seed=seed, horizon=horizon)
    assert arrivals == sorted(expected, key=lambda arrival: arrival[0])
    assert nobody is None
    assert end > horizon


def test_without_a_horizon_listed_files_come_to_an_end() -> None:
    table = SimulatedTable(name="t", stream=Stream(period=1.0, arrivals=((1e9, 5.0), (2.0, 1.0))))
    arrivals = list(timeline([(table, "t")], seed=0, horizon=math.inf))
    assert [(moment, label) for moment, _, label in arrivals] == [(2.0, "t"), (1e9, "t"), (math.inf, None)]
