"""How long updates take and how much that varies, as far as the ones that ran tell."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest

from freshtide.planning import predict, warehouse_model
from freshtide.planning.executions import Execution, executions
from freshtide.scheduling import Policy
from tests.observe.shop import NOON, Shop

MINUTE, HOUR = 60.0, 3600.0


def took(shop: Shop, name: str, seen: Iterable[tuple[float, float]], *, kind: str = "load") -> None:
    """Updates one after the other, each with the seconds of data that it added and the seconds that it took."""
    for number, (gained, seconds) in enumerate(seen):
        update = shop.runs(name, since=1_000.0 * number, from_freshness=NOON, kind=kind)
        shop.catalog.updates.finish(update, at=NOON + 1_000.0 * number + seconds, freshness=NOON + gained, rows=1)


def drawn(alpha: float, beta: float, *, spread: float, count: int, seed: int) -> list[tuple[float, float]]:
    rng = random.Random(seed)
    gained = [rng.uniform(10.0, 100.0) for _ in range(count)]
    return [(n, (alpha + beta * n) * rng.uniform(1.0 - spread, 1.0 + spread)) for n in gained]


def known(shop: Shop, name: str = "orders") -> Execution:
    return executions(shop.catalog)[name]


def test_updates_that_lie_on_a_line_are_taken_for_it(shop: Shop) -> None:
    took(shop, "orders", drawn(3.0, 0.2, spread=0.0, count=30, seed=1))
    found = known(shop)
    assert (found.alpha, found.beta) == pytest.approx((3.0, 0.2))
    assert found.factors == pytest.approx([1.0] * 30)


def test_a_slope_is_found_among_updates_that_vary(shop: Shop) -> None:
    seen = drawn(3.0, 0.2, spread=0.3, count=60, seed=2)
    took(shop, "orders", seen)
    found = known(shop)
    weights = np.sqrt(0.97 ** np.arange(len(seen) - 1, -1, -1))
    beta, alpha = np.polyfit([n for n, _ in seen], [e for _, e in seen], 1, w=weights)
    # The same line but for what keeps the mean of all of them, younger or older.
    assert found.alpha / found.beta == pytest.approx(alpha / beta)
    assert found.alpha + 55.0 * found.beta == pytest.approx(3.0 + 0.2 * 55.0, rel=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_a_slope_that_may_be_chance_is_none_and_the_mean_is_kept(shop: Shop, seed: int) -> None:
    """What is learnt from ten updates would have a slope here, and let a backlog of an hour look dear."""
    seen = drawn(5.0, 0.0, spread=0.8, count=40, seed=seed)
    took(shop, "orders", seen)
    found = known(shop)
    assert found.beta == 0.0
    mean = sum(seconds for _, seconds in seen) / len(seen)
    assert found.alpha * sum(found.factors) / len(found.factors) == pytest.approx(mean)
    assert max(found.factors) / min(found.factors) == pytest.approx(
        max(seconds for _, seconds in seen) / min(seconds for _, seconds in seen)
    )


def test_a_few_updates_have_the_spread_of_all_tables(shop: Shop) -> None:
    took(shop, "orders", drawn(5.0, 0.0, spread=0.5, count=40, seed=3))
    took(shop, "clicks", [(10.0, 1.0), (100.0, 3.0)])
    found = known(shop, "clicks")
    assert (found.alpha, found.beta) == pytest.approx((2.0, 0.0), rel=0.02)
    assert found.factors == known(shop, "orders").factors


def test_what_was_computed_anew_or_for_the_first_time_does_not_count(shop: Shop) -> None:
    took(shop, "orders", [(10.0, 2.0)] * 6)
    took(shop, "orders", [(10.0, 200.0)], kind="rebuild")
    shop.ran("orders", since=5_000.0, until=5_900.0, freshness=1.0)
    assert known(shop).alpha == pytest.approx(2.0)
    assert "clicks" not in executions(shop.catalog)


def test_predictions_draw_from_what_was_seen(shop: Shop) -> None:
    for number in range(10):
        stamp = (number - 10) * 5 * MINUTE
        shop.arrives("orders", f"{number}.csv", stamp, at=stamp)
    took(shop, "orders", [(300.0, 10.0), (300.0, 10.0), (300.0, 40.0)] * 10)
    result = predict(warehouse_model(shop.project, shop.catalog), Policy(), tracks=4, horizon=100 * HOUR).result
    assert result is not None
    orders = result.staleness["orders"]
    # A third of the updates takes 40 seconds, none takes more, and 20 are the mean.
    assert orders.maximum == pytest.approx(5 * MINUTE + 40.0)
    assert orders.mean == pytest.approx(2.5 * MINUTE + 20.0, rel=0.01)
