"""One run of a flow, from its sources to the commit of its targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from freshtide.core.errors import UsageError, choices
from freshtide.flows import POLICIES, FlowGraph, FlowRecord, Limits, Monitor
from freshtide.flows.activities import Read, SlowlyChanging, Write
from freshtide.flows.policies import MIXED, THETA
from freshtide.spark.flows.fused import FusedRun, passing_rows
from freshtide.spark.flows.holding import Scratch
from freshtide.spark.flows.moments import Moment
from freshtide.spark.flows.passing import PassingRows
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.flows.schemas import FlowSchemas, require_permitted_flow, resolve_flow
from freshtide.spark.flows.surroundings import Surroundings
from freshtide.spark.flows.targets import targets_of
from freshtide.spark.flows.worker import SparkWorker
from freshtide.spark.sessions import working_session
from freshtide.storage import Store, commit_together, finish_interrupted, journal_folder
from freshtide.world import SystemClock, names_in

PACK_ROWS = 100_000
"""Below this a pack takes as long to plan as to compute."""
_CLOCK = SystemClock()
_ADAPTIVE = "spark.sql.adaptive.enabled"
SHORT_NAMES = {"rr": "round-robin", "mc": "minimum-cost", "mm": "minimum-memory", "mp": MIXED}
Progress = Callable[[str, int, int], None]
"""Told an activity, and how many rows have gone into it and come out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReport:
    """What came of a run."""

    flow: str
    policy: str
    record: FlowRecord
    targets: Mapping[str, int]
    """Rows that went to each target, by its label."""
    seconds: float

    def as_json(self) -> dict[str, object]:
        return {
            "flow": self.flow,
            "policy": self.policy,
            "seconds": self.seconds,
            "activities": {
                name: {"rows_in": tally.rows_in, "rows_out": dict(tally.rows_out), "seconds": tally.seconds}
                for name, tally in self.record.tallies.items()
            },
            "targets": dict(self.targets),
            "memory": {
                "maximum_bytes": self.record.maximum_size,
                "average_bytes": self.record.average("size"),
                "maximum_packs": self.record.maximum_packs,
                "spilled_packs": self.record.spilled_packs,
            },
        }


def policy_named(name: str) -> str:
    """The whole name of a policy, short or not."""
    known = [*POLICIES, MIXED]
    whole = SHORT_NAMES.get(name, name)
    if whole not in known:
        raise UsageError(f"There is no policy '{name}'.", way_out=choices(name, [*known, *SHORT_NAMES]))
    return whole


def run_flow(
    graph: FlowGraph,
    spark: SparkSession,
    *,
    store: Store,
    root: Path,
    scratch: Path,
    policy: str = MIXED,
    limits: Limits | None = None,
    pack_rows: int = PACK_ROWS,
    theta: int = THETA,
    now: Callable[[], float] = _CLOCK.now,
    on_progress: Progress = lambda _node, _rows_in, _rows_out: None,
) -> FlowReport:
    """Run a flow and commit its targets together.

    Tables are in the store, files under the root. `scratch` is a folder for the scratch folders of all flows: what a
    crash has interrupted there is finished first. One flow runs at a time.
    """
    policy, limits = policy_named(policy), limits or Limits()
    if pack_rows < 1:
        raise UsageError(f"A pack of {pack_rows} rows moves nothing.", way_out="Give it 1 row at least.")
    finish_interrupted(sorted(scratch / name for name in names_in(store.disk, scratch)), store)
    moment, start = Moment(now()), _CLOCK.steady()
    recordsets = Recordsets(session=working_session(spark, compiled=True), store=store, root=root)
    running = Running(policy=policy, limits=limits, pack_rows=pack_rows, theta=theta, on_progress=on_progress)
    schemas, passing = running.analysed(graph, recordsets, moment)
    require_permitted_flow(graph, schemas.by_port, recordsets.session)
    surroundings = Surroundings(
        graph=graph,
        recordsets=recordsets,
        schemas=schemas,
        scratch=Scratch(journal_folder(scratch, graph.name, store), recordsets.session, store.disk),
        targets=targets_of(graph, recordsets, schemas.by_target),
        passing=passing,
        moment=moment,
    )
    with running.carried_out(surroundings) as record:
        commit_together(surroundings.scratch.folder, surroundings.prepare(now()), store)
    return FlowReport(
        flow=graph.name,
        policy=policy,
        record=record,
        targets={
            node.activity.target.label: record.tallies[node.name].rows_in
            for node in graph
            if isinstance(node.activity, Write | SlowlyChanging)
        },
        seconds=_CLOCK.steady() - start,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How the activities of a flow are carried out."""

    policy: str = MIXED
    limits: Limits = field(default_factory=Limits)
    pack_rows: int = PACK_ROWS
    theta: int = THETA
    now: Callable[[], float] = _CLOCK.steady
    """How time passes: by it activities take turns, and what they took is measured."""
    on_progress: Progress = lambda _node, _rows_in, _rows_out: None

    def analysed(
        self, graph: FlowGraph, recordsets: Recordsets, moment: Moment
    ) -> tuple[FlowSchemas, PassingRows | None]:
        """The columns of the flow and, where whole plans are carried out as they were analysed, what counts in them."""
        recordsets.look_at(node.activity.source for node in graph if isinstance(node.activity, Read))
        passing = passing_rows(graph, recordsets, theta=self.theta) if self.policy == MIXED else None
        return resolve_flow(graph, recordsets, passing=passing, moment=moment), passing

    @contextmanager
    def carried_out(self, surroundings: Surroundings) -> Iterator[FlowRecord]:
        """Run a flow up to where its targets can be committed, which is to be done within.

        Nothing of it stays where that fails, unless it was decided by then: the journal stays, and what it lists.
        """
        try:
            record = self._run(surroundings)
            try:
                yield record
            except Exception:
                surroundings.discard()
                raise
            surroundings.scratch.remove()
        finally:
            surroundings.release()

    def _run(self, surroundings: Surroundings) -> FlowRecord:
        try:
            return self._fused(surroundings) if self.policy == MIXED else self._in_packs(surroundings)
        except BaseException:
            surroundings.discard()
            raise

    def _fused(self, surroundings: Surroundings) -> FlowRecord:
        assert surroundings.passing is not None, "plans are analysed to count"
        return FusedRun(
            graph=surroundings.graph,
            surroundings=surroundings,
            passing=surroundings.passing,
            limits=self.limits,
            pack_rows=self.pack_rows,
            theta=self.theta,
            now=self.now,
            on_progress=self.on_progress,
        ).run()

    def _in_packs(self, surroundings: Surroundings) -> FlowRecord:
        graph = surroundings.graph
        worker = SparkWorker(graph=graph, surroundings=surroundings, pack_rows=self.pack_rows)
        monitor = Monitor(
            graph, worker, POLICIES[self.policy](), limits=self.limits, now=self.now, on_progress=self.on_progress
        )
        with _plans_left_alone(surroundings.scratch.session):
            try:
                return monitor.run()
            finally:
                worker.release()


@contextmanager
def _plans_left_alone(session: SparkSession) -> Iterator[None]:
    """Plans are as small as packs: to look at them again while they run would take as long as to run them."""
    before = session.conf.get(_ADAPTIVE, "true")
    session.conf.set(_ADAPTIVE, "false")
    try:
        yield
    finally:
        session.conf.set(_ADAPTIVE, before or "true")
