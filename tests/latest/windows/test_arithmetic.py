"""Where windows lie and when they are complete, with what the text of Moga et al. 2009 says of its figure 12."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.latest import KeyWindows
from freshtide.latest.windows import WindowError, WindowGrid

lengths = st.integers(1, 40).map(lambda tenths: tenths / 10)
times = st.integers(-5000, 5000).map(lambda hundredths: hundredths / 100)
epochs = st.floats(1.6e9, 1.9e9)


def test_in_ticks_the_window_that_starts_at_2_closes_with_the_tuple_at_4() -> None:
    grid = WindowGrid(3.0, 1.0, tick=1.0)
    assert grid.window(2) == (2.0, 5.0, 4.0)
    assert grid.last_complete(3.0) == 1
    assert grid.last_complete(4.0) == 2, "the window that closes at time 4 invalidates the output for window 1"
    assert [grid.holds(2, time) for time in (1.0, 2.0, 4.0, 5.0)] == [False, True, True, False]


def test_without_ticks_only_a_tuple_at_the_end_shows_that_a_window_is_complete() -> None:
    grid = WindowGrid.of(KeyWindows(size=3.0, slide=1.0))
    assert grid.window(2).closes_at == 5.0
    assert grid.last_complete(4.999) == 1, "there may be another tuple at 4.9995"
    assert grid.last_complete(5.0) == 2


def test_the_degree_of_overlapping_is_how_many_windows_a_time_is_in() -> None:
    assert WindowGrid(3.0, 1.0).overlap == 3
    assert WindowGrid(3.0, 2.0).overlap == 2
    assert WindowGrid(3.0, 3.0).overlap == 1
    assert list(WindowGrid(3.0, 1.0).holding(7.0)) == [5, 6, 7]
    assert list(WindowGrid(1.0, 3.0).holding(2.0)) == [], "between two windows"


@pytest.mark.parametrize(
    ("size", "slide", "tick"),
    [(3.0, 0.0, 0.0), (0.0, 1.0, 0.0), (3.0, -1.0, 0.0), (float("inf"), 1.0, 0.0), (3.0, 1.0, 2.0), (3.0, 1.0, -1.0)],
)
def test_windows_that_cannot_be_laid_out_are_refused_with_a_way_out(size: float, slide: float, tick: float) -> None:
    with pytest.raises(WindowError) as refused:
        WindowGrid(size, slide, tick)
    assert refused.value.way_out


def test_a_buffer_has_a_most_only_in_ticks() -> None:
    assert WindowGrid(3.0, 1.0, tick=1.0).most_buffered == 3
    assert WindowGrid(60.0, 30.0, tick=10.0).most_buffered == 8
    with pytest.raises(WindowError):
        _ = WindowGrid(3.0, 1.0).most_buffered


@given(size=lengths, slide=lengths, time=st.one_of(times, epochs))
def test_a_time_is_in_exactly_the_windows_whose_span_it_is_in(size: float, slide: float, time: float) -> None:
    grid = WindowGrid(size, slide)
    holding = grid.holding(time)
    for number in range(holding.start - 3, holding.stop + 3):
        window = grid.window(number)
        assert (number in holding) == (window.start <= time < window.end) == grid.holds(number, time)


@given(size=lengths, slide=lengths, ticks=st.sampled_from([0.0, 0.1]), time=st.one_of(times, epochs))
def test_the_last_window_of_each_kind_is_followed_by_one_that_is_not_of_it(
    size: float, slide: float, ticks: float, time: float
) -> None:
    grid = WindowGrid(size, slide, ticks)
    started, complete, ended = grid.last_started(time), grid.last_complete(time), grid.last_ended(time)
    assert grid.window(started).start <= time < grid.window(started + 1).start
    assert grid.window(complete).closes_at <= time < grid.window(complete + 1).closes_at
    assert grid.window(ended).end <= time < grid.window(ended + 1).end
