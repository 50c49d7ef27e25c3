"""Runs of archetype flows that are measured."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from freshtide.flows import FlowGraph, FlowRecord, Limits
from freshtide.flows.archetypes import ARCHETYPES, COMBINATIONS, SELECTIVE
from freshtide.flows.policies import MIXED
from freshtide.simulation.experiments import Experiment, Measured, Point, Spread
from freshtide.spark.experiments.tpch import tpch_data
from freshtide.spark.flows import PACK_ROWS, run_flow
from freshtide.storage import Store

SMALL_PACKS = 1_000
"""Rows. The paper has 400; here each pack is a Spark job at each activity."""
_WARM_UP = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRun:
    """What a run came to."""

    graph: FlowGraph
    seconds: float
    record: FlowRecord

    @property
    def average_packs(self) -> float:
        return self.record.average("packs")

    @property
    def maximum_packs(self) -> int:
        return self.record.maximum_packs


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowBench:
    """Runs flows over generated data, each into a warehouse of its own that is thrown away."""

    session: SparkSession
    cache: Path
    """Where the data of TPC-H is kept."""
    pack_rows: int = SMALL_PACKS
    limits: Limits = field(default_factory=Limits)
    """The queues of 100 packs are those of the paper's table 3."""

    def with_large_packs(self) -> FlowBench:
        """As flows run unless somebody says otherwise: for figures that show no memory."""
        return replace(self, pack_rows=PACK_ROWS)

    def warm_up(self) -> None:
        """Whatever runs first pays for what the JVM has to load and compile; so let it be nothing that counts."""
        for policy in ("round-robin", MIXED):
            self.run("butterfly", policy=policy, scale=_WARM_UP)

    def run(self, flow: str, *, policy: str, scale: float, selectivity: float = 1.0) -> FlowRun:
        data = str(tpch_data(scale, cache=self.cache).absolute())
        if selectivity < 1.0:
            graph = SELECTIVE[flow](data, selectivity=selectivity).graph()
        else:
            graph = {**ARCHETYPES, **COMBINATIONS}[flow](data).graph()
        with tempfile.TemporaryDirectory(prefix="freshtide-", ignore_cleanup_errors=True) as folder:
            root = Path(folder)
            report = run_flow(
                graph,
                self.session,
                store=Store(root / "warehouse"),
                root=root,
                scratch=root / "scratch",
                policy=policy,
                limits=self.limits,
                pack_rows=self.pack_rows,
            )
        return FlowRun(graph=graph, seconds=report.seconds, record=report.record)


def measured_in_turn(experiment: Experiment[Any]) -> Spread:
    """One point after another, here: two at once would take time from each other."""

    def spread(_: object, points: Iterable[Point]) -> Iterator[Measured]:
        for point in points:
            series = experiment.measure(experiment.points[point.number], point.conditions)
            yield Measured(number=point.number, series=series)

    return spread
