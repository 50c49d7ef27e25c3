"""What the activities of a run share: where they read and write, and the keys that they assign."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from freshtide.core.instants import micros
from freshtide.flows import FlowGraph, Node
from freshtide.flows.activities import SlowlyChanging, SurrogateKey
from freshtide.spark.flows.commits import Commit
from freshtide.spark.flows.dimensions import updated_dimension
from freshtide.spark.flows.holding import Scratch
from freshtide.spark.flows.journal import is_unfinished
from freshtide.spark.flows.passing import PassingRows
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.flows.schemas import FlowSchemas
from freshtide.spark.flows.surrogates import Lookup
from freshtide.spark.flows.targets import TableTarget, Target
from freshtide.spark.reading import instant


@dataclass(slots=True, kw_only=True)
class Surroundings:
    graph: FlowGraph
    recordsets: Recordsets
    schemas: FlowSchemas
    scratch: Scratch
    targets: dict[str, Target]
    at: float
    """The moment of the run."""
    passing: PassingRows | None = None
    """What counts rows on their way, where whole plans are carried out."""
    _lookups: dict[str, Lookup] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lookup(self, node: Node) -> Lookup:
        """The lookup table of an activity; several may share one."""
        activity = node.activity
        assert isinstance(activity, SurrogateKey), "only surrogate keys are looked up"
        with self._lock:
            if activity.lookup not in self._lookups:
                table = self.recordsets.store.table(activity.lookup)
                incoming = self.schemas.by_port[self.graph[node.name].inputs[0]]
                self._lookups[activity.lookup] = Lookup(table, activity, incoming, self.recordsets.session)
            return self._lookups[activity.lookup]

    def update_dimension(self, node: Node, incoming: DataFrame) -> None:
        activity = node.activity
        assert isinstance(activity, SlowlyChanging), "only dimensions are brought up to date"
        current = self.recordsets.current(activity.target)
        now = F.expr(instant(micros(self.at)))
        self.targets[node.name].write(updated_dimension(node.name, activity, incoming, current, now=now))

    def prepare(self, at: float) -> list[Commit]:
        """Everything that is to be committed together: the targets, and lookup tables with new keys."""
        prepared = [target.prepare(at=at) for target in self.targets.values()]
        commits: list[Commit] = [commit for commit in prepared if commit is not None]
        for lookup in self._lookups.values():
            keys = lookup.new_keys()
            if keys is not None:
                target = TableTarget(lookup.table, lookup.schema, flow=self.graph.name, replaces=False)
                target.write(keys)
                commits.append(target.prepare(at=at))
        return commits

    def discard(self) -> None:
        """The run has failed: nothing of it stays, unless its commits have been decided on."""
        if is_unfinished(self.scratch.folder):
            return
        for target in self.targets.values():
            target.discard()
        self.scratch.remove()

    def release(self) -> None:
        """Give back the memory that is held."""
        for lookup in self._lookups.values():
            lookup.release()
