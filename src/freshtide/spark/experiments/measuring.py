"""Runs of archetype flows that are measured."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from freshtide.flows import FlowGraph, FlowRecord
from freshtide.flows.archetypes import ARCHETYPES, COMBINATIONS, SELECTIVE
from freshtide.flows.policies import mixed
from freshtide.simulation.experiments import Experiment, Measured, Point, Spread
from freshtide.spark.experiments.tpch import tpch_data
from freshtide.spark.flows import run_flow
from freshtide.storage import Store

EXPERIMENT_PACK_ROWS = 2_000
"""The paper has 400; here each pack is a Spark job at each activity."""
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


@dataclass(slots=True, kw_only=True)
class FlowBench:
    """Runs flows over generated data, each into a warehouse of its own that is thrown away."""

    session: SparkSession
    cache: Path
    """Where the data of TPC-H is kept."""
    pack_rows: int = EXPERIMENT_PACK_ROWS
    theta: int = mixed.THETA
    _is_warm: bool = False

    def run(self, flow: str, *, policy: str, scale: float, selectivity: float = 1.0) -> FlowRun:
        if not self._is_warm:
            # Whatever comes first pays for what the JVM has to load and compile; so let it be something else.
            self._is_warm = True
            for each in ("round-robin", mixed.NAME):
                self.run("butterfly", policy=each, scale=_WARM_UP)
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
                pack_rows=self.pack_rows,
                theta=self.theta,
            )
        return FlowRun(graph=graph, seconds=report.seconds, record=report.record)


def measured_in_turn(experiment: Experiment[Any]) -> Spread:
    """One point after another, here: two at once would take time from each other."""

    def spread(_: object, points: Iterable[Point]) -> Iterator[Measured]:
        for point in points:
            series = experiment.measure(experiment.points[point.number], point.conditions)
            yield Measured(number=point.number, series=series)

    return spread
