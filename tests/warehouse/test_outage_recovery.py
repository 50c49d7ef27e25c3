"""Two feeds of the demo are cut off for 20 seconds and come back with their backlog: who pays for it, on Spark."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from freshtide import Warehouse
from freshtide.demo import Generator, create_demo
from freshtide.observe import staleness_curves
from freshtide.planning import demands_of, promises
from freshtide.scheduling import Adaptive, adaptive_policy
from freshtide.spark import SparkSession
from freshtide.world import SystemClock

CUT = frozenset({"syslog_feed", "interface_traffic_feed"})
HEALTHY = ("cpu_readings", "cpu_per_minute", "alerts")
# By average costs: three standard deviations above them, as `worst` has it, may be more than a busy machine can give.
ADAPTIVE = Adaptive(costs="average")
SCHEDULERS = {"adaptive": "{name: adaptive, costs: average}", "fifo": "fifo"}
WARM_UP, LEARNING, OUTAGE, RECOVERY = 12.0, 25.0, 20.0, 30.0
SLOW_TABLES = '''
"""What the cut feeds bring is looked up row by row in a service that takes its time, whatever the machine can do."""

import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from freshtide import table


def looked_up(column: str, seconds: float):
    def look_up(key: str) -> str:
        time.sleep(seconds)
        return key

    return sf.udf(look_up, "string")(column).alias(column)


@table(feed="syslog_feed")
def log_messages(rows: DataFrame) -> DataFrame:
    return rows.select("logged_at", "router", "severity", looked_up("facility", 0.007), "message")


@table(feed="interface_traffic_feed")
def interface_counters(rows: DataFrame) -> DataFrame:
    return rows.select("counted_at", "router", looked_up("interface", 0.0058), "in_bytes", "out_bytes")
'''


def demo(folder: Path, scheduler: str) -> Path:
    """The demo on one track, with its healthy tables, and slow ones for the two feeds."""
    create_demo(folder)
    settings = folder / "freshtide.yml"
    written = settings.read_text(encoding="utf-8")
    settings.write_text(
        written.replace("scheduler: target-lag", f"scheduler: {scheduler}").replace("tracks: 2", "tracks: 1"),
        encoding="utf-8",
    )
    for file in (folder / "tables").glob("*.sql"):
        statements = file.read_text(encoding="utf-8").split(";\n")
        kept = [text for text in statements if set(re.findall(r"(?:TABLE|VIEW) (\w+)", text)) & set(HEALTHY)]
        file.write_text("".join(f"{text};\n" for text in kept), encoding="utf-8")
    (folder / "tables" / "tickets.py").unlink()
    (folder / "tables" / "slow.py").write_text(SLOW_TABLES, encoding="utf-8")
    return folder


@dataclass(frozen=True, slots=True)
class Outcome:
    """How stale each healthy table got from the beginning of the outage on, and what can be promised to it."""

    staleness: dict[str, float]
    bounds: dict[str, float | None]

    @property
    def beyond(self) -> list[str]:
        return [name for name, worst in self.staleness.items() if worst > (self.bounds[name] or 0.0)]


def run(folder: Path, spark: SparkSession, *, learning: float, outage: float, recovery: float) -> Outcome:
    clock, stop = SystemClock(), threading.Event()
    with Warehouse.open(folder, spark=spark) as warehouse:
        began = clock.now()
        generator = Generator(folder, seed=7, start=began)

        def deliver() -> None:
            while not stop.wait(0.1):
                now = clock.now()
                is_cut = learning <= now - began < learning + outage
                generator.write_until(now, cut=CUT if is_cut else frozenset())

        feeds = threading.Thread(target=deliver, daemon=True)
        feeds.start()
        try:
            report = warehouse.run(until=lambda: clock.now() - began > learning + outage + recovery)
        finally:
            stop.set()
            feeds.join()
        assert report.failed == {}
        catalog = warehouse.workbench.catalog
        curves = staleness_curves(catalog, since=began + learning, until=clock.now())
        found = promises(demands_of(warehouse.project, catalog).units, adaptive_policy(ADAPTIVE), tracks=1)
        return Outcome(
            staleness={name: curves[name].maximum for name in HEALTHY if name in curves},
            bounds={name: found[name].bound for name in HEALTHY},
        )


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(600)
def test_under_adaptive_healthy_tables_keep_their_bounds_while_others_recover_and_under_fifo_they_do_not(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    # The first updates of a session take seconds, and would be reserved for.
    run(demo(tmp_path / "warm", "max-benefit"), spark, learning=WARM_UP, outage=0.0, recovery=0.0)
    outcomes = {
        name: run(demo(tmp_path / name, scheduler), spark, learning=LEARNING, outage=OUTAGE, recovery=RECOVERY)
        for name, scheduler in SCHEDULERS.items()
    }
    with capsys.disabled():
        for scheduler, outcome in outcomes.items():
            told = [f"{name} {worst:.1f}s of {outcome.bounds[name]}" for name, worst in outcome.staleness.items()]
            print(f"\n{scheduler}: {', '.join(told)}")  # noqa: T201 - the figures are what this test is run for
    assert set(outcomes["adaptive"].staleness) == set(HEALTHY)
    assert outcomes["adaptive"].beyond == []
    # Both are held against what the adaptive scheduler could promise at the costs that were seen there.
    fifo = outcomes["fifo"].staleness
    assert [name for name in HEALTHY if fifo[name] > (outcomes["adaptive"].bounds[name] or 0.0)]
