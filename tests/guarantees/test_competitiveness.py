"""Theorem 3.1 and corollary 3.2 of Bateni et al. 2009 as functions."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from freshtide.guarantees import (
    EagerLoad,
    best_choice,
    eager_breaches,
    eager_factor,
    penalty_breaches,
    penalty_factor,
    proportion,
)

SHARES = st.floats(0.0001, 0.366)
LOADS = st.builds(
    lambda share, tracks, more: EagerLoad(alpha=share * tracks / (tracks + more), tracks=tracks, tables=tracks + more),
    SHARES,
    st.integers(1, 10),
    st.integers(0, 30),
)
OPEN = st.floats(0.001, 0.999)


def test_theorem_3_1_gives_the_factor() -> None:
    assert penalty_factor(alpha=0.5, beta=0.5, delta=0.75) == 1.5**2 * 16 * 4


def test_theorem_3_1_asks_for_fast_updates() -> None:
    """With beta 1/4 and delta 3/4 the constant is 3/8: alpha / (1 - alpha t / p) <= 3/8 p/t, alpha <= 3/11 p/t."""
    load = EagerLoad(alpha=3 / 11 * 2 / 5, tracks=2, tables=5)
    just, slower = replace(load, alpha=load.alpha * 0.999999), replace(load, alpha=load.alpha * 1.001)
    assert penalty_breaches(just, beta=0.25, delta=0.75) == []
    (breach,) = penalty_breaches(slower, beta=0.25, delta=0.75)
    assert "5 tables on 2 tracks" in breach.reason
    assert breach.tracks_needed == 3
    assert penalty_breaches(replace(slower, tracks=3), beta=0.25, delta=0.75) == []


@pytest.mark.parametrize(("beta", "delta"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0)])
def test_beta_and_delta_lie_between_0_and_1(beta: float, delta: float) -> None:
    (breach,) = penalty_breaches(EagerLoad(alpha=0.001, tracks=1, tables=1), beta=beta, delta=delta)
    assert "between 0 and 1" in breach.reason


def test_corollary_3_2_there_is_a_constant_below_0_366() -> None:
    load = EagerLoad(alpha=0.366 / 2, tracks=3, tables=6)
    assert eager_breaches(load) == []
    (breach,) = eager_breaches(replace(load, alpha=0.36603 / 2))
    assert "less than 0.366 p/t = 0.183" in breach.reason
    assert breach.tracks_needed == 4


def test_tracks_that_no_table_could_use_do_not_help() -> None:
    (breach,) = eager_breaches(EagerLoad(alpha=0.5, tracks=100, tables=3))
    assert breach.tracks_needed is None
    assert "tracks would do" not in breach.way_out


@given(st.floats(0.001, 0.99), st.integers(1, 20), st.integers(1, 20))
def test_the_number_of_tracks_that_would_do_does(alpha: float, tracks: int, tables: int) -> None:
    load = EagerLoad(alpha=alpha, tracks=tracks, tables=tables)
    for breach in eager_breaches(load):
        if breach.tracks_needed is not None:
            assert eager_breaches(replace(load, tracks=breach.tracks_needed)) == []
            assert eager_breaches(replace(load, tracks=breach.tracks_needed - 1))


@given(LOADS, OPEN, OPEN)
def test_no_other_choice_gives_a_smaller_factor(load: EagerLoad, beta: float, delta: float) -> None:
    assume(not eager_breaches(load))
    assume(not penalty_breaches(load, beta=beta, delta=delta))
    assert eager_factor(load) <= penalty_factor(alpha=load.alpha, beta=beta, delta=delta) * (1.0 + 1e-9)


@given(LOADS)
def test_the_best_choice_is_one_that_the_theorem_allows(load: EagerLoad) -> None:
    assume(not eager_breaches(load))
    beta, delta = best_choice(load)
    faster = replace(load, alpha=load.alpha * (1.0 - 1e-9))
    assert penalty_breaches(faster, beta=beta, delta=delta) == []
    slower = replace(load, alpha=load.alpha * (1.0 + 1e-6))
    assert penalty_breaches(slower, beta=beta, delta=delta), "it leaves nothing to be gained"


def test_corollary_3_2_the_factor_approaches_1() -> None:
    factors = [eager_factor(EagerLoad(alpha=alpha, tracks=2, tables=8)) for alpha in (0.05, 1e-3, 1e-5, 1e-9, 0.0)]
    assert factors == sorted(factors, reverse=True)
    assert factors[3] == pytest.approx(1.0, abs=1e-4)
    assert factors[4] == 1.0
    assert math.isinf(EagerLoad(alpha=0.5, tracks=1, tables=2).squeeze), "nothing is left to catch up with"


@given(st.floats(0.0, 10.0), st.floats(0.0, 1.0), st.floats(0.1, 100.0), st.floats(1.0, 50.0))
@example(fixed=5e-324, per_second=0.0, shortest=2.0, longer=1.0)
def test_a_fixed_cost_counts_for_the_shortest_update(
    fixed: float, per_second: float, shortest: float, longer: float
) -> None:
    alpha = proportion(fixed=fixed, per_second=per_second, shortest=shortest)
    length = shortest * longer
    assert fixed + per_second * length <= alpha * length * (1.0 + 1e-9)
