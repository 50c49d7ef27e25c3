"""The monitor: starts, stalls and resumes activities as a policy chooses (Karagiannis et al. 2013, 3.1 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from freshtide.flows.graph import FlowGraph, Node
from freshtide.flows.packs import Pack, Supply, Worker
from freshtide.flows.policies import FlowPolicy, Standing
from freshtide.flows.queues import Limits, PackQueue
from freshtide.flows.records import Activation, FlowRecord, MemorySample, Tally


@dataclass(slots=True, kw_only=True)
class _Running:
    """An activity in the midst of a run."""

    node: Node
    place: int
    queues: tuple[PackQueue, ...]
    """One per input."""
    supply: Supply | None = None
    """What it gives without further input; of a source from the start, else once its input is complete."""
    finished: bool = False
    tally: Tally = field(default_factory=Tally)


class Monitor:
    """Runs a flow, or some activities of it, one activity at a time."""

    def __init__(
        self,
        graph: FlowGraph,
        worker: Worker,
        policy: FlowPolicy,
        *,
        limits: Limits,
        now: Callable[[], float],
        on_progress: Callable[[str, int, int], None] = lambda _node, _rows_in, _rows_out: None,
    ) -> None:
        self._graph = graph
        self._worker = worker
        self._policy = policy
        self._limits = limits
        self._now = now
        self._on_progress = on_progress
        self.record = FlowRecord()
        self._running = {
            node.name: _Running(
                node=node,
                place=place,
                queues=tuple(PackQueue(edge=edge, limit=limits.packs) for edge in node.edges),
            )
            for place, node in enumerate(graph)
        }
        self._queue_of = {queue.edge: queue for each in self._running.values() for queue in each.queues}
        self.record.tallies = {name: each.tally for name, each in self._running.items()}

    def run(self) -> FlowRecord:
        """Until every activity has finished."""
        self._sample()
        while any(not each.finished for each in self._running.values()):
            able = [each for each in self._running.values() if self._may_run(each)]
            if not able:
                self._make_room()
                continue
            chosen = self._policy.choose([self._standing(each) for each in able])
            self._activate(next(each for each in able if each.place == chosen.place))
        return self.record

    def _standing(self, each: _Running) -> Standing:
        queued = sum(queue.rows for queue in each.queues)
        if each.supply is not None:
            queued += each.supply.rows
        return Standing(
            place=each.place,
            queued=queued,
            taken=each.tally.rows_in,
            given=sum(each.tally.rows_out.values()),
            seconds=each.tally.seconds,
        )

    def _may_run(self, each: _Running) -> bool:
        """Whether the activity has something to do now, and its consumers have room for what comes of it."""
        if each.finished:
            return False
        number = self._next_input(each)
        if number is not None and number in each.node.activity.whole_inputs:
            return True
        return self._has_room(each) and (number is not None or self._inputs_are_complete(each))

    def _next_input(self, each: _Running) -> int | None:
        """The input to take a pack from: one that must be complete goes before the others, which wait for it."""
        whole = each.node.activity.whole_inputs
        for number in whole:
            if each.queues[number].packs:
                return number
        if not all(self._is_complete(each, number) for number in whole):
            return None
        return next((number for number, queue in enumerate(each.queues) if queue.packs), None)

    def _is_complete(self, each: _Running, number: int) -> bool:
        return self._running[each.queues[number].edge.producer].finished and not each.queues[number].packs

    def _inputs_are_complete(self, each: _Running) -> bool:
        return all(self._is_complete(each, number) for number in range(len(each.queues)))

    def _has_room(self, each: _Running) -> bool:
        return not any(self._queue_of[edge].is_full for edge in self._graph.consumers(each.node.name))

    def _activate(self, each: _Running) -> None:
        """Until its input is exhausted, a consumer is full, or its slot is over."""
        start, slot = self._now(), self._policy.slot
        before = (each.tally.rows_in, sum(each.tally.rows_out.values()))
        packs = 0
        while self._may_run(each) and (slot is None or not packs or self._now() - start < slot):
            began = self._now()
            packs += self._step(each)
            each.tally.seconds += self._now() - began
            self._sample()
            self._on_progress(each.node.name, each.tally.rows_in, sum(each.tally.rows_out.values()))
        self.record.activations.append(
            Activation(
                node=each.node.name,
                start=start,
                end=self._now(),
                packs=packs,
                rows_in=each.tally.rows_in - before[0],
                rows_out=sum(each.tally.rows_out.values()) - before[1],
            )
        )

    def _step(self, each: _Running) -> int:
        """Process one pack; 0 if it was only found that there are no more."""
        number = self._next_input(each)
        if number is None:
            return self._give(each)
        pack = each.queues[number].packs.popleft()
        each.tally.rows_in += pack.rows
        if number in each.node.activity.whole_inputs:
            self._worker.keep(each.node, number, pack)
            return 1
        self._make_room_for(pack.size)
        for port, packs in self._worker.process(each.node, number, pack).items():
            self._put(each, port, packs)
        pack.release()
        self._make_room_for(0)
        return 1

    def _give(self, each: _Running) -> int:
        """What a source holds, or what has become of input that had to be complete; or the activity is done."""
        activity = each.node.activity
        if each.supply is None and (activity.least_inputs == 0 or activity.blocks):
            each.supply = self._worker.supply(each.node)
        pack = each.supply.take() if each.supply is not None else None
        if pack is None:
            each.finished = True
            return 0
        if activity.least_inputs == 0:
            each.tally.rows_in += pack.rows
        self._put(each, activity.ports[0], [pack])
        self._make_room_for(0)
        return 1

    def _put(self, each: _Running, port: str, packs: Sequence[Pack]) -> None:
        edges = self._graph.consumers(each.node.name, port)
        each.tally.rows_out[port] = each.tally.rows_out.get(port, 0) + sum(pack.rows for pack in packs)
        for pack in packs:
            shared = pack if len(edges) == 1 else _Shared(pack, len(edges))
            for edge in edges:
                self._queue_of[edge].packs.append(shared)
            if not edges:
                pack.release()

    def _make_room(self) -> None:
        """Nothing can run: what waits for an input that is not complete yet is put on disk, and its queue grows.

        That happens where both inputs of a join come from one activity, and the one that must be complete cannot be
        because the other is full.
        """
        stuck = [
            queue
            for each in self._running.values()
            for queue in each.queues
            if queue.is_full and not each.finished and self._next_input(each) is None
        ]
        assert stuck, "a flow without cycles always has an activity that can run, or a full queue in its way"
        queue = max(stuck, key=lambda queue: queue.size)
        for pack in queue.packs:
            self._spill(pack)
        queue.limit *= 2

    def _make_room_for(self, size: int) -> None:
        """Keep the budget: put on disk what will be needed last."""
        if self._limits.memory is None:
            return
        while self._size() + size > self._limits.memory:
            in_memory = [pack for queue in self._queue_of.values() for pack in queue.packs if pack.size]
            if not in_memory:
                return
            self._spill(in_memory[-1])

    def _spill(self, pack: Pack) -> None:
        if pack.size:
            pack.spill()
            self.record.spilled_packs += 1

    def _size(self) -> int:
        return sum({id(pack): pack.size for queue in self._queue_of.values() for pack in queue.packs}.values())

    def _sample(self) -> None:
        held = {id(pack): pack for queue in self._queue_of.values() for pack in queue.packs}
        self.record.memory.append(
            MemorySample(
                time=self._now(),
                packs=len(held),
                rows=sum(pack.rows for pack in held.values()),
                size=sum(pack.size for pack in held.values()),
                by_edge={queue.edge.label: queue.size for queue in self._queue_of.values() if queue.packs},
            )
        )


class _Shared:
    """A pack in several queues: it is released when the last of them has done with it."""

    def __init__(self, pack: Pack, users: int) -> None:
        self._pack = pack
        self._users = users

    @property
    def rows(self) -> int:
        return self._pack.rows

    @property
    def size(self) -> int:
        return self._pack.size

    @property
    def whole(self) -> Pack:
        return self._pack

    def spill(self) -> None:
        self._pack.spill()

    def release(self) -> None:
        self._users -= 1
        if not self._users:
            self._pack.release()
