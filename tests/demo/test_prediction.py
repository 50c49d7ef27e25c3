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

WARM = 6
OBSERVED = 45.0


@pytest.mark.slow
def test_predicted_staleness_is_what_is_observed(tmp_path: Path, spark: SparkSession) -> None:
    create_demo(tmp_path / "demo")
    with Warehouse.open(tmp_path / "demo", spark=spark) as warehouse:
        project, bench = warehouse.project, warehouse.workbench
        clock, catalog = bench.clock, bench.catalog
        quick = [table.name for table in project.graph.values() if (table.period or 0.0) <= 10.0]
        warm_since: list[float] = []

        def observed_enough() -> bool:
            """Spark's first updates take long: what counts begins when all that is updated often has been."""
            if not warm_since:
                rows = catalog.tables.all()
                if all(rows[name].updates >= WARM for name in quick if name in rows):
                    warm_since.append(clock.now())
                return False
            return clock.now() - warm_since[0] >= OBSERVED

        stop = threading.Event()
        feeding = feed_live(Generator(project.root, seed=7, start=clock.now()), clock, stop)
        try:
            report = warehouse.run(until=observed_enough)
        finally:
            stop.set()
            feeding.join()
        assert report.failed == {}
        observed = staleness_curves(catalog, since=warm_since[0], until=clock.now())
        model = warehouse_model(project, catalog)

    settings = project.settings
    result = predict(model, settings.policy, tracks=settings.tracks, horizon=model.horizon).result
    assert result is not None
    errors = {name: abs(result.staleness[name].mean - curve.mean) / curve.mean for name, curve in observed.items()}
    assert len(errors) >= 17, "nearly all tables have been updated while it was observed"
    assert statistics.median(errors.values()) <= 0.25, errors
