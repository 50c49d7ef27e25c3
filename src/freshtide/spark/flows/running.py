"""One run of a flow, from its sources to the commit of its targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from freshtide.clock import SystemClock
from freshtide.core.errors import UsageError, choices
from freshtide.flows import POLICIES, FlowGraph, FlowRecord, Limits, Monitor
from freshtide.flows.activities import SlowlyChanging, Write
from freshtide.flows.policies import mixed
from freshtide.spark.flows.commits import commit_together, finish_interrupted
from freshtide.spark.flows.fused import FusedRun
from freshtide.spark.flows.holding import Scratch
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.flows.schemas import resolve_flow
from freshtide.spark.flows.surroundings import Surroundings
from freshtide.spark.flows.targets import targets_of
from freshtide.spark.flows.worker import SparkWorker
from freshtide.spark.sessions import working_session
from freshtide.storage import Store

PACK_ROWS = 100_000
"""Below this a pack takes as long to plan as to compute."""
_CLOCK = SystemClock()
SHORT_NAMES = {"rr": "round-robin", "mc": "minimum-cost", "mm": "minimum-memory", "mp": mixed.NAME}
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
    known = [*POLICIES, mixed.NAME]
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
    policy: str = mixed.NAME,
    limits: Limits | None = None,
    pack_rows: int = PACK_ROWS,
    theta: int = mixed.THETA,
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
    finish_interrupted(sorted(scratch.glob("*")), store)
    start = now()
    session = working_session(spark, compiled=True)
    recordsets = Recordsets(session=session, store=store, root=root)
    schemas = resolve_flow(graph, recordsets)
    surroundings = Surroundings(
        graph=graph,
        recordsets=recordsets,
        schemas=schemas,
        scratch=Scratch(scratch / graph.name, session),
        targets=targets_of(graph, recordsets, schemas.by_target),
        at=start,
    )
    try:
        record = _rows_staged(
            surroundings,
            policy,
            limits=limits,
            pack_rows=pack_rows,
            theta=theta,
            now=now,
            on_progress=on_progress,
        )
        _commit(surroundings, at=now())
    finally:
        surroundings.release()
    return FlowReport(
        flow=graph.name,
        policy=policy,
        record=record,
        targets={
            node.activity.target.label: record.tallies[node.name].rows_in
            for node in graph
            if isinstance(node.activity, Write | SlowlyChanging)
        },
        seconds=now() - start,
    )


def _rows_staged(
    surroundings: Surroundings,
    policy: str,
    *,
    limits: Limits,
    pack_rows: int,
    theta: int,
    now: Callable[[], float],
    on_progress: Progress,
) -> FlowRecord:
    """Run all activities; if one fails, nothing of the run stays."""
    graph = surroundings.graph
    try:
        if policy == mixed.NAME:
            return FusedRun(
                graph=graph,
                surroundings=surroundings,
                limits=limits,
                pack_rows=pack_rows,
                theta=theta,
                now=now,
                on_progress=on_progress,
            ).run()
        # Plans are as small as packs: to look at them again while they run would take as long as to run them.
        surroundings.scratch.session.conf.set("spark.sql.adaptive.enabled", "false")
        worker = SparkWorker(graph=graph, surroundings=surroundings, pack_rows=pack_rows)
        try:
            monitor = Monitor(graph, worker, POLICIES[policy](), limits=limits, now=now, on_progress=on_progress)
            return monitor.run()
        finally:
            worker.release()
    except BaseException:
        surroundings.discard()
        raise


def _commit(surroundings: Surroundings, *, at: float) -> None:
    """Commit all targets; when that is interrupted, the journal and what it speaks of stay for the next run."""
    try:
        commits = surroundings.prepare(at)
        commit_together(surroundings.scratch.folder, commits, surroundings.recordsets.store)
    except Exception:
        surroundings.discard()
        raise
    surroundings.scratch.remove()
