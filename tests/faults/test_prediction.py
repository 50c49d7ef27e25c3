"""What is predicted of the real runtime, against what it then does, in a simulated world that no machine disturbs."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import pytest
from faults.tables import BASES, FEEDS, VIEWS, project
from faults.world import World

from freshtide.catalog import Catalog
from freshtide.core.staleness import StalenessCurve
from freshtide.planning import predict, warehouse_model

SEEDS = range(1, 9)
LEARNT, PREDICTED = 500.0, 500.0
EVERY = 5.0
"""A file about every five seconds for each of the feeds, one after the other by chance."""


@pytest.mark.slow
@pytest.mark.parametrize("slowness", [0.2, 1.0])
def test_the_staleness_of_the_real_runtime_is_predicted(slowness: float) -> None:
    """With 0.2 tracks are busy for less than half of the time, with 1 nearly always; what updates take varies a lot."""
    errors: list[float] = []
    for seed in SEEDS:
        world = World(seed)
        world.temper.slowness = slowness
        life = world.begin_life()
        _land(world, LEARNT)
        since = world.turns.now
        model = warehouse_model(project(), life.catalog, now=since)
        _land(world, PREDICTED)
        until = world.turns.now
        settings = project().settings
        result = predict(model, settings.policy, tracks=settings.tracks, horizon=until - since).result
        assert result is not None
        first = {name: since + (table.standing.freshness or 0.0) for name, table in model.tables.items()}
        for name, mean in _observed(life.catalog, first, since, until).items():
            errors.append(abs(result.staleness[name].mean - mean) / mean)
    assert len(errors) == len(SEEDS) * len([*BASES, *VIEWS])
    assert median(errors) <= 0.1, errors


def _land(world: World, seconds: float) -> None:
    end = world.turns.steady + seconds
    while world.turns.steady < end:
        world.producer.land(world.disk.another_process(), world.rng.choice(tuple(FEEDS)))
        world.go_on(EVERY / len(FEEDS))


def _observed(catalog: Catalog, first: Mapping[str, float], since: float, until: float) -> dict[str, float]:
    curves = {name: StalenessCurve(since=since, freshness=freshness) for name, freshness in first.items()}
    for update in catalog.updates.done_since(since):
        if update.finished_at is not None and update.freshness is not None and update.finished_at <= until:
            curves[update.table].refreshed(update.finished_at, update.freshness)
    for curve in curves.values():
        curve.advance(until)
    return {name: curve.mean for name, curve in curves.items()}
