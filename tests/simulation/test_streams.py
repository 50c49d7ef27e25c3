"""When files arrive: what can be relied upon, whatever the seed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.simulation import Lateness, Pattern, SimulatedTable, Stream
from freshtide.simulation.streams import files_of

DRAWN: tuple[Pattern, ...] = ("quasiperiodic", "adversarial")


def base(pattern: Pattern, period: float, name: str = "t") -> SimulatedTable:
    return SimulatedTable(name=name, stream=Stream(period=period, pattern=pattern))


@given(st.sampled_from(DRAWN), st.floats(0.01, 1e5), st.integers(0, 100))
def test_time_stamps_rise_and_the_seed_decides_them(pattern: Pattern, period: float, seed: int) -> None:
    table = base(pattern, period)
    files = list(itertools.islice(files_of(table, seed), 500))
    assert all(moment == stamp for moment, stamp in files)
    assert all(earlier < later for (earlier, _), (later, _) in itertools.pairwise(files))
    assert files[0][0] > 0.0
    assert files == list(itertools.islice(files_of(table, seed), 500))
    assert files != list(itertools.islice(files_of(table, seed + 1), 500))
    assert files != list(itertools.islice(files_of(base(pattern, period, "other"), seed), 500))


@pytest.mark.parametrize("pattern", DRAWN)
@pytest.mark.parametrize(
    "disturbance",
    [
        {"phase": 1.0},
        {"jitter": 1.0},
        {"late": Lateness(share=0.5, by=1.0)},
        {"outages": ((1.0, 2.0),)},
        {"arrivals": ((1.0, 1.0),)},
    ],
)
def test_only_periodic_streams_can_be_disturbed(pattern: Pattern, disturbance: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"is {pattern}"):
        Stream(period=10.0, pattern=pattern, **disturbance)  # type: ignore[arg-type]


def test_no_file_is_stamped_later_than_it_comes() -> None:
    Stream(period=10.0, arrivals=((3.0, 3.0), (5.0, 4.0)))
    with pytest.raises(ValueError, match=r"comes at 5 cannot be stamped 5\.5"):
        Stream(period=10.0, arrivals=((3.0, 3.0), (5.0, 5.5)))
