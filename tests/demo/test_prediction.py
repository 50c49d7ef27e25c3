"""What `freshtide simulate` predicts of the demo, against what the demo then does."""

from __future__ import annotations

import statistics
import threading
from pathlib import Path

import pytest

from freshtide import Warehouse
from freshtide.demo import Generator, create_demo, feed_live
from freshtide.observe import staleness_curves
from freshtide.planning import predict, warehouse_model
from freshtide.spark import SparkSession

OBSERVED = 45.0
LONGEST_WARM_UP = 120.0


@pytest.mark.slow
@pytest.mark.alone
def test_predicted_staleness_is_what_is_observed(tmp_path: Path, spark: SparkSession) -> None:
    create_demo(tmp_path / "demo")
    with Warehouse.open(tmp_path / "demo", spark=spark) as warehouse:
        project, bench = warehouse.project, warehouse.workbench
        clock, catalog = bench.clock, bench.catalog
        stop = threading.Event()
        feeding = feed_live(Generator(project.root, seed=7, start=clock.now()), clock, stop)

        def warm() -> bool:
            """Spark's first updates take long and say little about the later ones."""
            often = [table.name for table in project.graph.values() if table.period and table.period <= 10.0]
            rows = catalog.tables.all()
            return all(name in rows and rows[name].updates >= 5 for name in often)

        try:
            longest = clock.now() + LONGEST_WARM_UP
            report = warehouse.run(until=lambda: warm() or clock.now() >= longest)
            assert report.failed == {}
            since = clock.now()
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
