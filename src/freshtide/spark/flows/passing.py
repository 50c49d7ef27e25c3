"""Rows that pass places of a plan, counted by Spark while it computes.

What counts is a sample of all rows: as an operator of the code that Spark generates it costs next to nothing, where
`DataFrame.observe` would part that code and take each row out of it (it made a plan of twenty counted places half as
slow again). Its seed tells the places apart in the plan that was carried out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from freshtide.flows import Port

_OPERATOR = "Sample"
_METRIC = "number of output rows"


class PassingRows:
    """Counts by output of an activity; one for each run of a flow."""

    def __init__(self, flow: str, places: Collection[Port], session: SparkSession) -> None:
        """Rows are counted at these places only."""
        self._flow = flow
        self._places = places
        inner: Any = session
        self._bus = inner.sparkContext._jsc.sc().listenerBus()
        self._store = inner._jsparkSession.sharedState().statusStore()
        self._waiting: dict[int, Port] = {}
        self._seen = self._newest()
        """What ran before is not ours."""
        self._looked_at: set[int] = set()

    def counted(self, port: Port, frame: DataFrame) -> DataFrame:
        """The same rows; if this is a place where they count, how many they are is known once they are computed."""
        if port not in self._places:
            return frame
        seed = _seed(self._flow, port)
        self._waiting[seed] = port
        return frame.sample(withReplacement=False, fraction=1.0, seed=seed)

    @property
    def uncounted(self) -> tuple[Port, ...]:
        return tuple(self._waiting.values())

    def collect(self) -> dict[Port, int]:
        """What the queries counted that have ended since the last time."""
        if not self._waiting:
            return {}
        self._bus.waitUntilEmpty()
        found: dict[Port, int] = {}
        executions = self._store.executionsList()
        for place in reversed(range(executions.size())):
            execution = executions.apply(place)
            number = int(execution.executionId())
            if number <= self._seen:
                break
            if number not in self._looked_at and execution.completionTime().isDefined():
                self._looked_at.add(number)
                found |= self._counts(number)
        return found

    def _newest(self) -> int:
        executions = self._store.executionsList()
        return int(executions.last().executionId()) if executions.size() else -1

    def _counts(self, execution: int) -> dict[Port, int]:
        found: dict[Port, int] = {}
        nodes = self._store.planGraph(execution).allNodes()
        values = None
        for place in range(nodes.size()):
            node = nodes.apply(place)
            if node.name() != _OPERATOR:
                continue
            seed = int(node.desc().rpartition(",")[2])
            if seed not in self._waiting:
                continue
            values = values or self._store.executionMetrics(execution)
            for number in range(node.metrics().size()):
                metric = node.metrics().apply(number)
                if metric.name() == _METRIC and values.contains(metric.accumulatorId()):
                    found[self._waiting.pop(seed)] = int(values.apply(metric.accumulatorId()).replace(",", ""))
        return found


def _seed(flow: str, port: Port) -> int:
    """The same in each run, because it is part of the code that Spark generates and keeps compiled."""
    digest = hashlib.sha256("\0".join((flow, *port)).encode()).digest()
    return int.from_bytes(digest[:6])
