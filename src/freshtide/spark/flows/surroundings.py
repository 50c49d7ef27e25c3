"""What the activities of a run share: where they read and write, and the keys that they assign."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from freshtide.flows import FlowGraph, Node
from freshtide.flows.activities import SlowlyChanging, SurrogateKey
from freshtide.spark.flows.dimensions import updated_dimension
from freshtide.spark.flows.holding import Scratch
from freshtide.spark.flows.moments import Moment
from freshtide.spark.flows.passing import PassingRows
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.flows.schemas import FlowSchemas
from freshtide.spark.flows.surrogates import Lookup
from freshtide.spark.flows.targets import TableTarget, Target
from freshtide.spark.schemas import quoted
from freshtide.storage import Commit, is_unfinished


@dataclass(slots=True, kw_only=True)
class Surroundings:
    graph: FlowGraph
    recordsets: Recordsets
    schemas: FlowSchemas
    scratch: Scratch
    targets: dict[str, Target]
    moment: Moment
    """When the run takes place."""
    passing: PassingRows | None = None
    """What counts rows on their way, where whole plans are carried out."""
    time_column: str | None = None
    """What rows of the table that the flow loads are ordered by, where nothing else says so."""
    anew: bool = False
    """Whether the run is over all that ever arrived."""
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
        # Only a history that bears the moments of runs cannot be had again from what arrived.
        starts_over = self.anew and (activity.type == 1 or activity.as_of is not None)
        current = None if starts_over else self.recordsets.current(activity.target)
        now = F.expr(self.moment.in_text("now()"))
        others = [column for column in incoming.columns if column != activity.as_of]
        order = [quoted(column) for column in others if column == self.time_column]
        updated = updated_dimension(node.name, activity, incoming, current, now=now, order=order)
        self.targets[node.name].write(updated)

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
        if is_unfinished(self.scratch.folder, self.recordsets.store):
            return
        for target in self.targets.values():
            target.discard()
        self.scratch.remove()

    def release(self) -> None:
        """Give back the memory that is held."""
        for lookup in self._lookups.values():
            lookup.release()
