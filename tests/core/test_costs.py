from __future__ import annotations

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from freshtide.core.costs import CostModel, GivenCost

COEFFICIENTS = st.floats(0.01, 100.0)
SIZES = st.lists(st.floats(1.0, 10_000.0), min_size=2, max_size=40)


@given(COEFFICIENTS, st.floats(0.0, 10.0), SIZES)
def test_alpha_and_beta_are_recovered_from_exact_data(alpha: float, beta: float, sizes: list[float]) -> None:
    # Old observations weigh little, so it takes different sizes among the recent ones to see a slope.
    recent = sizes[-5:]
    assume(max(recent) > 1.5 * min(recent))
    model = CostModel.learnt_from((n, alpha + beta * n) for n in sizes)
    assert model.coefficients[1] == pytest.approx(beta, rel=1e-4, abs=1e-6)
    for n in (min(recent), max(recent)):
        assert model.expected(n) == pytest.approx(alpha + beta * n, rel=1e-4)


def test_the_line_through_two_updates_goes_on_beyond_them() -> None:
    model = CostModel.learnt_from([(10.0, 3.0), (20.0, 5.0)])
    assert model.coefficients == pytest.approx((1.0, 0.2))
    assert model.expected(100.0) == pytest.approx(21.0)


def test_what_was_long_ago_is_forgotten() -> None:
    slow = [(float(n), 50.0 + 5.0 * n) for n in range(10, 40)]
    quick = [(float(n), 1.0 + 0.1 * n) for n in range(10, 40)]
    model = CostModel.learnt_from([*slow, *quick, *quick, *quick])
    assert model.expected(25.0) == pytest.approx(3.5, rel=0.02)


def test_one_surprise_does_not_turn_the_model_over() -> None:
    steady = [(10.0, 2.0)] * 30
    model = CostModel.learnt_from([*steady, (10.0, 20.0)])
    assert 2.0 < model.expected(10.0) < 5.0


def test_updates_of_one_size_say_what_one_costs_and_nothing_about_the_slope() -> None:
    model = CostModel.learnt_from([(60.0, 2.0), (60.0, 4.0), (60.0, 3.0)])
    assert model.expected(60.0) == pytest.approx(3.0, rel=0.05)
    assert model.expected(600.0) == model.expected(60.0)


def test_a_model_that_has_seen_nothing_goes_by_what_it_was_given() -> None:
    assert CostModel.given(2.0, 0.5).expected(10.0) == 7.0


@given(st.lists(st.tuples(st.floats(0.0, 1e6), st.floats(0.0, 1e4)), max_size=30), st.floats(0.0, 1e7))
def test_an_update_always_costs_something(observations: list[tuple[float, float]], n: float) -> None:
    model = CostModel.learnt_from(observations)
    alpha, beta = model.coefficients
    assert alpha >= 0.0
    assert beta >= 0.0
    assert model.expected(n) > 0.0


@given(st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(0.01, 1e4)), min_size=1, max_size=30))
def test_a_larger_update_is_never_expected_to_be_quicker(observations: list[tuple[float, float]]) -> None:
    model = CostModel.learnt_from(observations)
    assert model.expected(10.0) <= model.expected(1_000.0)


def test_observing_leaves_the_model_before_as_it_was() -> None:
    before = CostModel.given(1.0, 0.0)
    before.observed(10.0, 99.0)
    assert before.expected(10.0) == 1.0


def test_an_update_takes_at_most_what_the_slow_ones_took() -> None:
    """Uniform between 0.8 and 1.2 times what is expected."""
    model = CostModel.learnt_from((10.0, 2.0 * (0.8 + 0.1 * (number % 5))) for number in range(50))
    assert 2.4 <= model.longest(10.0) <= 3.0


def test_a_single_slow_update_is_not_expected_for_ever() -> None:
    quick = [(10.0, 1.0)] * 20
    just_now = CostModel.learnt_from([*quick, (10.0, 9.0)])
    long_ago = CostModel.learnt_from([*quick, (10.0, 9.0), *quick, *quick])
    assert just_now.longest(10.0) > 5.0
    assert long_ago.longest(10.0) < 2.0


def test_the_first_update_says_nothing_about_how_others_stray() -> None:
    model = CostModel.learnt_from([(10.0, 5.0)])
    assert model.longest(10.0) == model.expected(10.0) == 5.0


def test_a_given_cost_strays_by_its_variability() -> None:
    assert GivenCost(1.0, 0.1, 0.5).longest(10.0) == 3.0


def noisy(sizes: list[float], alpha: float, beta: float, rng: random.Random) -> CostModel:
    return CostModel.learnt_from((n, (alpha + beta * n) * rng.uniform(0.5, 1.5)) for n in sizes)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_fixed_is_told_from_noisy_updates_of_different_sizes(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.uniform(10.0, 100.0) for _ in range(100)]
    assert 0.7 < noisy(sizes, 1.0, 0.0, rng).certainly_fixed < 1.1
    assert noisy(sizes, 0.0, 0.1, rng).certainly_fixed < 0.1 * 55.0 / 8.0, "eight of these are no long update"


def test_nothing_is_certainly_fixed_of_updates_of_one_size() -> None:
    model = CostModel.learnt_from([(60.0, 2.0), (60.0, 4.0), (60.0, 3.0)] * 10)
    assert model.certainly_fixed == 0.0
    assert model.data_within(3.0, freely=0.0) == pytest.approx(60.0 * 2.2), "another size is tried"


@pytest.mark.parametrize("seed", range(10))
def test_pieces_that_are_made_as_long_as_they_may_be_do_not_grow_without_end(seed: int) -> None:
    """Of a table whose cost is all but in proportion to its data, with much noise, and a backlog without end."""
    rng = random.Random(seed)
    model, took = CostModel(), []
    for _ in range(300):
        within = max(4.0, 8.0 * model.certainly_fixed)
        n = max(10.0, model.data_within(within, freely=80.0))
        took.append((0.05 + 0.1 * n) * rng.uniform(0.5, 1.5))
        model = model.observed(n, took[-1])
    assert max(took) < 40.0
    assert 2.0 < sum(took) / len(took) < 8.0


@pytest.mark.parametrize("seed", range(10))
def test_pieces_grow_to_all_there_is_where_the_cost_is_fixed(seed: int) -> None:
    rng = random.Random(seed)
    model = CostModel()
    for _ in range(60):
        n = min(1e5, max(10.0, model.data_within(max(1.0, 8.0 * model.certainly_fixed), freely=80.0)))
        model = model.observed(n, 2.0 * rng.uniform(0.5, 1.5))
    assert model.sum_nn / model.sum_n > 1e4


@given(st.lists(st.tuples(st.floats(0.0, 1e6), st.floats(0.0, 1e4)), max_size=30), st.floats(0.0, 1e4))
def test_how_much_fits_is_always_told(observations: list[tuple[float, float]], seconds: float) -> None:
    model = CostModel.learnt_from(observations)
    assert model.certainly_fixed >= 0.0
    assert model.data_within(seconds, freely=100.0) == model.data_within(seconds, freely=100.0), "no nan"
