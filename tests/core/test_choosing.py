"""In full or from changes: what was learnt decides, tries are few, and most of a table is not followed."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import pytest

from freshtide.core.choosing import Choice, Learnt, Standing, Way, choose

Costs = Callable[[Way, int, int], float]
"""What an update takes, by its way, the rows of the sources, and those that have changed."""


def linear(*, fixed_full: float, per_row: float, fixed_changes: float, per_change: float = 0.0) -> Costs:
    def cost(way: Way, rows: int, changed: int) -> float:
        whole = fixed_full + per_row * rows
        return {Way.FULL: whole, Way.ANEW: 2 * whole, Way.CHANGES: fixed_changes + per_change * changed}[way]

    return cost


class View:
    """A view whose updates take what they are told to take."""

    def __init__(self, costs: Costs, *, noise: float = 0.0, seed: int = 0) -> None:
        self.learnt = Learnt()
        self.ways: list[Way] = []
        self.spent = 0.0
        self.choice: Choice | None = None
        self._costs = costs
        self._noise = noise
        self._rng = Random(seed)
        self._follows = False

    def update(self, *, rows: int, changed: int = 10, comes_to: Way | None = None, odd: float = 1.0) -> Way:
        choice = choose(self.learnt, Standing(rows=rows, follows=self._follows, is_there=bool(self.ways)))
        if choice.way is not Way.FULL:
            choice = choose(self.learnt, Standing(rows=rows, changed=changed, follows=self._follows))
        way = comes_to or choice.way
        seconds = self._costs(way, rows, changed) * odd * (1.0 + self._rng.uniform(-self._noise, self._noise))
        # By way of the catalog, as after a restart.
        told = json.loads(json.dumps(self.learnt.as_json()))
        self.learnt = Learnt.from_json(told).after(choice, way, rows=rows, changed=changed, seconds=seconds)
        self.choice = choice
        self.spent += seconds
        self.ways.append(way)
        self._follows = way is not Way.FULL
        return way


def test_a_small_table_is_computed_in_full_for_ever() -> None:
    view = View(linear(fixed_full=0.3, per_row=1e-6, fixed_changes=0.3), noise=0.3)
    for turn in range(500):
        view.update(rows=1_000 + turn)
    assert set(view.ways) == {Way.FULL}


def test_a_table_that_grows_is_followed_once_that_pays() -> None:
    view = View(linear(fixed_full=0.3, per_row=1e-5, fixed_changes=0.3), noise=0.2)
    for turn in range(200):
        view.update(rows=1_000 + 2_000 * turn)
    first = view.ways.index(Way.CHANGES)
    assert view.ways[first - 1] is Way.ANEW
    # When full takes a second or so, and not when it takes the double.
    assert 0.6 < 0.3 + 1e-5 * 2_000 * first < 2.0
    assert set(view.ways[first:]) == {Way.CHANGES}


def test_a_cold_start_is_no_reason_to_try_anything() -> None:
    view = View(linear(fixed_full=0.3, per_row=0.0, fixed_changes=0.25))
    view.update(rows=1_000, odd=10.0)
    for _ in range(20):
        view.update(rows=1_000)
    assert set(view.ways) == {Way.FULL}


def test_what_turns_out_dearer_is_left_again_and_tried_seldom() -> None:
    view = View(linear(fixed_full=2.0, per_row=0.0, fixed_changes=3.0), noise=0.2)
    for _ in range(640):
        view.update(rows=1_000_000)
    assert view.ways[-1] is Way.FULL
    assert 1 <= view.ways.count(Way.ANEW) <= 11
    assert view.ways.count(Way.CHANGES) <= 11


def test_where_most_has_changed_all_is_computed() -> None:
    view = View(linear(fixed_full=0.1, per_row=1e-5, fixed_changes=0.3, per_change=2e-5))
    for _ in range(10):
        view.update(rows=1_000_000)
    assert view.ways[-1] is Way.CHANGES
    assert view.update(rows=1_000_000, changed=600_000) is Way.FULL
    assert view.choice is not None
    assert view.choice.why == "computed in full: 600,000 of 1,000,000 rows of its sources have changed"
    # What was known is still known: it is made anew and followed.
    assert [view.update(rows=1_000_000) for _ in range(2)] == [Way.ANEW, Way.CHANGES]


def test_tries_that_come_to_nothing_get_seldom() -> None:
    view = View(linear(fixed_full=5.0, per_row=0.0, fixed_changes=0.3))
    for _ in range(1_000):
        # Changes never tell what has changed.
        choice = choose(view.learnt, Standing(rows=1_000, is_there=bool(view.ways)))
        view.update(rows=1_000, comes_to=Way.FULL if choice.way is not Way.FULL else None)
    assert view.learnt.in_vain <= 8


def test_an_operator_without_a_rule_is_named() -> None:
    choice = choose(Learnt(against="LIMIT without ORDER BY"), Standing(rows=5))
    assert (choice.way, choice.why) == (Way.FULL, "computed in full: LIMIT without ORDER BY has no rule")


def test_both_ways_are_compared_in_words() -> None:
    learnt = Learnt(full=((1_200, 0.3),) * 3, changes=((10, 0.9),))
    assert choose(learnt, Standing(rows=1_200)).why == "computed in full: 1,200 rows take 0.3s, from changes 0.9s"


def test_what_was_learnt_of_another_query_does_not_count() -> None:
    learnt = Learnt(definition="one", full=((10, 5.0),) * 3)
    assert learnt.of("one") is learnt
    assert learnt.of("other") == Learnt(definition="other")


@pytest.mark.parametrize("seed", range(20))
def test_choosing_costs_little_more_than_the_better_way(seed: int) -> None:
    rng = Random(seed)
    costs = linear(
        fixed_full=rng.uniform(0.1, 1.0),
        per_row=10 ** rng.uniform(-7, -5),
        fixed_changes=rng.uniform(0.1, 2.0),
        per_change=10 ** rng.uniform(-6, -4),
    )
    view, best = View(costs, noise=0.3, seed=seed), 0.0
    rows = rng.choice((1_000, 100_000, 1_000_000))
    growth = rng.choice((10, 1_000))
    for _ in range(1_000):
        rows += growth
        changed = rng.randint(1, 2 * growth)
        view.update(rows=rows, changed=changed)
        best += min(costs(Way.FULL, rows, changed), costs(Way.CHANGES, rows, changed))
    # Within what a new way has to promise, and what it takes to find out.
    assert view.spent <= 1.55 * best
