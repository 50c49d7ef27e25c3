"""The Mixed Policy on Spark: a subflow is a job, not a queue of packs between each two of its activities.

Strata run in order, the subflows of a stratum in parallel, each in a thread and a pool of its own (Karagiannis et al.
2013, section 5.3). Activities that pipeline are fused into one plan. What one activity outside takes becomes part of
that one's plan, where Spark computes it once and divides it between stages as it needs. What several take is computed
when its stratum comes, and kept. A subflow with more than `theta` memory-intensive activities goes through the monitor
under Minimum Memory, pack by pack.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark import SparkContext
from pyspark.sql import DataFrame

from freshtide.core.errors import FreshtideError
from freshtide.flows import Activation, FlowGraph, FlowRecord, Limits, MemorySample, Monitor, Node, Port, Subflow, Tally
from freshtide.flows.activities import OUT, Read, SlowlyChanging, SurrogateKey, Write
from freshtide.flows.policies import MinimumMemory, PlannedSubflow, plan_mixed
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.flows.boundaries import cut_out, outputs_of
from freshtide.spark.flows.counting import balances, solved, to_count
from freshtide.spark.flows.failures import ActivityError, naming
from freshtide.spark.flows.holding import HeldFrame
from freshtide.spark.flows.passing import PassingRows
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.flows.sharing import lineage, ports_to_keep
from freshtide.spark.flows.surroundings import Surroundings
from freshtide.spark.flows.targets import tells_rows
from freshtide.spark.flows.transforms import Frames, transform
from freshtide.spark.flows.worker import SparkWorker

_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """Activities that were computed together."""

    nodes: tuple[str, ...]
    start: float
    end: float


def passing_rows(graph: FlowGraph, recordsets: Recordsets, *, theta: int) -> PassingRows:
    """What counts the rows that nothing else tells.

    Rows of what is kept and of most sources and targets are known from their files, and the monitor counts packs.
    """
    in_packs = {
        (name, port)
        for stratum in plan_mixed(graph, theta=theta)
        for planned in stratum
        if planned.policy == MinimumMemory.name
        for name in planned.subflow.nodes
        for port in graph[name].activity.ports
    }
    written = {
        node.inputs[0] for node in graph.writes if isinstance(node.activity, Write) and tells_rows(node.activity.target)
    }
    known = ports_to_keep(graph) | in_packs | written | _rows_of_sources(graph, recordsets).keys()
    return PassingRows(graph.name, to_count(graph, known), recordsets.session)


def _rows_of_sources(graph: FlowGraph, recordsets: Recordsets) -> dict[Port, int]:
    """Of those that tell without being read through."""
    return {
        (node.name, OUT): rows
        for node in graph
        if isinstance(node.activity, Read) and (rows := recordsets.rows_of(node.activity.source)) is not None
    }


@dataclass(slots=True, kw_only=True)
class FusedRun:
    """A flow under the Mixed Policy."""

    graph: FlowGraph
    surroundings: Surroundings
    passing: PassingRows
    limits: Limits
    pack_rows: int
    theta: int
    now: Callable[[], float]
    on_progress: Callable[[str, int, int], None]
    record: FlowRecord = field(default_factory=FlowRecord)
    _frames: dict[Port, DataFrame] = field(default_factory=dict)
    _known: dict[Port, int] = field(default_factory=dict)
    """Rows by output, as far as they have been counted."""
    _keep: set[Port] = field(default_factory=set)
    _held: dict[Port, HeldFrame] = field(default_factory=dict)
    _kept: set[Port] = field(default_factory=set)
    """Outputs that are in memory or on disk: whoever takes them computes nothing again."""
    _jobs: list[_Job] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> FlowRecord:
        strata = plan_mixed(self.graph, theta=self.theta)
        self._known = _rows_of_sources(self.graph, self.surroundings.recordsets)
        self._keep = ports_to_keep(self.graph)
        self._sample()
        try:
            for stratum in strata:
                self._run_stratum(stratum)
            self._count_the_rest()
        finally:
            for held in self._held.values():
                held.release()
        self._sample()
        self._book()
        return self.record

    @property
    def _analysed(self) -> Mapping[Port, DataFrame]:
        """Plans from before the run, which hold as long as nothing on the way was kept or looked up."""
        return self.surroundings.schemas.frames

    @property
    def _context(self) -> SparkContext:
        return self.surroundings.scratch.session.sparkContext

    @property
    def _tag(self) -> str:
        return f"flow-{self.graph.name}"

    def _run_stratum(self, stratum: Sequence[PlannedSubflow]) -> None:
        share = None if self.limits.memory is None else max(1, self.limits.memory // len(stratum))
        with ThreadPoolExecutor(max_workers=min(len(stratum), _AT_ONCE)) as pool:
            running = [
                pool.submit(self._run_subflow, planned, f"flow-{place}", share) for place, planned in enumerate(stratum)
            ]
            try:
                for each in as_completed(running):
                    each.result()
            except BaseException:
                # Nothing will be committed: what the others still compute is in vain.
                self._stopping.set()
                self._context.cancelJobsWithTag(self._tag)
                raise
        self._sample()

    def _run_subflow(self, planned: PlannedSubflow, pool: str, memory: int | None) -> None:
        self._context.setLocalProperty("spark.scheduler.pool", pool)
        self._context.addJobTag(self._tag)
        if planned.policy == MinimumMemory.name:
            self._run_in_packs(planned.subflow, replace(self.limits, memory=memory))
            return
        for name in planned.subflow.nodes:
            if self._stopping.is_set():
                return
            self._fuse(self.graph[name])

    def _fuse(self, node: Node) -> None:
        """Make the activity part of a plan; run a job where the plan ends."""
        inputs = [self._frames[port] for port in node.inputs]
        results: Frames = {}
        match node.activity:
            case Write():
                with self._job(node):
                    self.surroundings.targets[node.name].write(inputs[0])
            case SlowlyChanging():
                with self._job(node):
                    self.surroundings.update_dimension(node, inputs[0])
            case SurrogateKey() as activity:
                with self._job(node):
                    keys = self.surroundings.lookup(node).assign(activity, inputs[0])
                results = transform(node, inputs, moment=self.surroundings.moment, lookup=keys)
            case _ if all(self._frames[port] is self._analysed.get(port) for port in node.inputs):
                results = {port: self._analysed[node.name, port] for port in node.activity.ports}
            case _:
                with naming(node.name, "all of its input"):
                    results = transform(node, inputs, moment=self.surroundings.moment)
        for port, frame in results.items():
            self._put(node, port, frame)

    def _put(self, node: Node, port: str, frame: DataFrame) -> None:
        place = (node.name, port)
        if frame is not self._analysed.get(place):
            with self._lock:
                frame = self.passing.counted(place, frame)
        if place in self._keep:
            with self._job(node):
                frame = self._kept_rows(place, frame)
        self._frames[place] = frame

    def _kept_rows(self, place: Port, frame: DataFrame) -> DataFrame:
        """In memory, unless memory is short; then on disk."""
        if self.limits.memory is None:
            held = HeldFrame(frame)
            self._held[place] = held
            self._known[place] = held.rows
            kept = held.frame
        else:
            files = self.surroundings.scratch.stage(frame, "kept")
            self._known[place] = sum(file.rows for file in files)
            kept = self.surroundings.scratch.read(files, frame.schema)
        self._kept.add(place)
        return kept

    @contextmanager
    def _job(self, node: Node) -> Iterator[None]:
        """Spark computes within, up to this activity. Where it fails, packs tell which activity it was, and where."""
        nodes, start = lineage(self.graph, node, self._kept), self.now()
        try:
            yield
        except ActivityError:
            raise
        except (*SPARK_ERRORS, FreshtideError) as error:
            if self._stopping.is_set():
                raise ActivityError(node.name, "its job", "another activity has failed before.") from error
            told = plain_words(error) if isinstance(error, SPARK_ERRORS) else str(error)
            self._run_in_packs(Subflow(number=-1, nodes=nodes), self.limits)
            raise ActivityError(node.name, "all of its input", told) from error
        with self._lock:
            self._jobs.append(_Job(nodes=nodes, start=start, end=self.now()))
            self._known |= self.passing.collect()
            self._tell(nodes)

    def _run_in_packs(self, subflow: Subflow, limits: Limits) -> None:
        part = cut_out(self.graph, subflow)
        staged = {
            port: self._frames[port]
            for name in subflow.nodes
            for port in self.graph[name].inputs
            if port in self._frames
        }
        worker = SparkWorker(graph=part, surroundings=self.surroundings, pack_rows=self.pack_rows, staged=staged)
        monitor = Monitor(part, worker, MinimumMemory(), limits=limits, now=self.now, on_progress=self._progress)
        try:
            record = monitor.run()
        finally:
            worker.release()
        with self._lock:
            for name in subflow.nodes:
                for port in self.graph[name].activity.ports:
                    self._known[name, port] = record.tallies[name].rows_out.get(port, 0)
            for place in outputs_of(self.graph, subflow):
                files = worker.outputs.get(place, [])
                self._frames[place] = self.surroundings.scratch.read(files, self.surroundings.schemas.by_port[place])
                self._kept.add(place)
            self.record.activations += [each for each in record.activations if each.node in self.graph.nodes]
            self.record.memory = sorted((*self.record.memory, *record.memory), key=lambda sample: sample.time)
            self.record.spilled_packs += record.spilled_packs
            self.record.grown_queues |= record.grown_queues

    def _progress(self, name: str, rows_in: int, rows_out: int) -> None:
        # What stages rows at the ends of a subflow is no activity of the flow.
        if name in self.graph.nodes:
            self.on_progress(name, rows_in, rows_out)

    def _count_the_rest(self) -> None:
        """What was not counted on the way: Spark leaves out what can make no difference, as beside an empty input."""
        for node in self.graph.writes:
            rows = self.surroundings.targets[node.name].staged_rows()
            if rows is not None:
                self._known[node.inputs[0]] = rows
        self._known |= self.passing.collect()
        for port in self.passing.uncounted:
            self._known[port] = self._frames[port].count()

    def _tell(self, names: Sequence[str]) -> None:
        rows = solved(balances(self.graph), self._known)
        for name in names:
            tally = self._tally(self.graph[name], rows)
            self.on_progress(name, tally.rows_in, sum(tally.rows_out.values()))

    def _tally(self, node: Node, rows: Mapping[Port, int]) -> Tally:
        outs = {port: rows.get((node.name, port), 0) for port in node.activity.ports}
        ins = sum(rows.get(port, 0) for port in node.inputs)
        return Tally(rows_in=ins if node.inputs else sum(outs.values()), rows_out=outs)

    def _book(self) -> None:
        """Who ran when, and on how much."""
        rows = solved(balances(self.graph), self._known)
        self.record.tallies = {node.name: self._tally(node, rows) for node in self.graph}
        told = {activation.node for activation in self.record.activations}
        for job in self._jobs:
            for name in job.nodes:
                tally = self.record.tallies[name]
                tally.seconds += (job.end - job.start) / len(job.nodes)
                # What was computed once more for another is no more rows.
                first = name not in told
                told.add(name)
                self.record.activations.append(
                    Activation(
                        node=name,
                        start=job.start,
                        end=job.end,
                        packs=1,
                        rows_in=tally.rows_in if first else 0,
                        rows_out=sum(tally.rows_out.values()) if first else 0,
                    )
                )
        self.record.activations.sort(key=lambda activation: activation.start)

    def _sample(self) -> None:
        with self._lock:
            held = {port: each for port, each in self._held.items() if each.size}
            self.record.memory.append(
                MemorySample(
                    time=self.now(),
                    packs=len(held),
                    rows=sum(each.rows for each in held.values()),
                    size=sum(each.size for each in held.values()),
                    by_edge={
                        edge.label: each.size for port, each in held.items() for edge in self.graph.consumers(*port)
                    },
                )
            )
