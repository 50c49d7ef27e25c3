"""Keys update as often as their distribution says."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from freshtide.simulation.latest import keys


def shares(weights: list[float], *, seed: int = 1, updates: int = 40_000) -> list[float]:
    counted = Counter(itertools.islice(keys.drawn(weights, random.Random(seed)), updates))
    assert counted.keys() <= set(range(len(weights)))
    return [counted[key] / updates for key in range(len(weights))]


def test_equal_keys_update_equally_often() -> None:
    assert shares(keys.equal(8)) == pytest.approx([1 / 8] * 8, rel=0.1)


def test_fast_keys_update_so_many_times_as_often_as_slow_ones() -> None:
    found = shares(keys.two_classes(fast=9, slow=1, ratio=10.0))
    assert found[:9] == pytest.approx([10 / 91] * 9, rel=0.1)
    assert found[9] == pytest.approx(1 / 91, rel=0.2)


def test_zipf_is_uniform_at_0_and_ever_more_unequal_beyond() -> None:
    assert keys.zipf(5, 0.0) == keys.equal(5)
    assert keys.zipf(4, 0.5)[3] == pytest.approx(1 / 2)
    most = [shares(keys.zipf(100, theta))[0] for theta in (0.0, 0.3, 0.6, 0.9)]
    assert most == sorted(most)
    assert most[-1] > 10 * most[0]


def test_the_seed_decides_what_is_drawn() -> None:
    first, again, other = (
        list(itertools.islice(keys.drawn(keys.equal(10), random.Random(seed)), 2_500)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_round_robin_goes_through_all_keys_in_turn() -> None:
    assert list(itertools.islice(keys.round_robin(3), 7)) == [0, 1, 2, 0, 1, 2, 0]
