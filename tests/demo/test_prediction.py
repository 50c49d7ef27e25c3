"""What `freshtide simulate` predicts of the demo, against what the demo then does."""

from __future__ import annotations

import statistics
import threading
from pathlib import Path

import pytest

from freshtide import Warehouse
from freshtide.demo import Generator, create_demo, feed_live
from freshtide.observe import predict, staleness_curves, warehouse_model
from freshtide.spark import SparkSession

WARM_UP = 25.0
OBSERVED = 45.0


@pytest.mark.slow
def test_predicted_staleness_is_what_is_observed(tmp_path: Path, spark: SparkSession) -> None:
    create_demo(tmp_path / "demo")
    with Warehouse.open(tmp_path / "demo", spark=spark) as warehouse:
        project, bench = warehouse.project, warehouse.workbench
        clock, catalog = bench.clock, bench.catalog
        # Spark's first updates take long and say little about the later ones.
        since = clock.now() + WARM_UP
        stop = threading.Event()
        feeding = feed_live(Generator(project.root, seed=7, start=clock.now()), clock, stop)
        try:
            report = warehouse.run(until=lambda: clock.now() >= since + OBSERVED)
        finally:
            stop.set()
            feeding.join()
        assert report.failed == {}
        observed = staleness_curves(catalog, since=since, until=since + OBSERVED)
        model = warehouse_model(project, catalog)

    settings = project.settings
    result = predict(model, settings.policy, tracks=settings.tracks, horizon=model.horizon).result
    assert result is not None
    errors = {name: abs(result.staleness[name].mean - curve.mean) / curve.mean for name, curve in observed.items()}
    assert len(errors) >= 17, "nearly all tables have been updated while it was observed"
    assert statistics.median(errors.values()) <= 0.25, errors
