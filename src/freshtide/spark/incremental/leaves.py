"""Where rows come from: sources, and values that a query names itself."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from freshtide.spark.incremental.operators import Keys, When, restricted
from freshtide.spark.incremental.plans import columns
from freshtide.spark.incremental.running import Run


class Leaf:
    """A place of the query that names a source, with those of its columns that are asked for."""

    def __init__(self, source: str, names: Sequence[str]) -> None:
        self._source = source
        self._names = tuple(names)
        self.width = len(names)

    def changes(self, run: Run) -> DataFrame | None:
        return run.sources.changes(self._source, self._names)

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:
        return run.sources.state(self._source, self._names, when, keys)


class Constant:
    """Rows that are the same for ever."""

    def __init__(self, plan: JavaObject, width: int) -> None:
        self._plan = plan
        self.width = width

    def changes(self, run: Run) -> DataFrame | None:  # noqa: ARG002 - whatever happens
        return None

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:  # noqa: ARG002 - at any time
        return restricted(run.plans.frame(self._plan, columns(self.width)), keys)
