"""The monitor: starts, stalls and resumes activities as a policy chooses (Karagiannis et al. 2013, 3.1 and 6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from freshtide.flows.graph import FlowGraph, Node
from freshtide.flows.packs import Pack, Supply, Worker
from freshtide.flows.policies import FlowPolicy, Standing
from freshtide.flows.queues import Limits, PackQueue, WaitingPack
from freshtide.flows.records import Activation, FlowRecord, MemorySample, Tally


@dataclass(slots=True, kw_only=True)
class _Running:
    """An activity in the midst of a run."""

    node: Node
    place: int
    queues: tuple[PackQueue, ...]
    """One per input."""
    outbox: deque[tuple[str, Pack]] = field(default_factory=deque)
    """What came out of one pack and did not fit into the queues at once, with the output it is for."""
    supply: Supply | None = None
    """What it gives without further input: of a source from the start, else once its input is complete."""
    finished: bool = False
    tally: Tally = field(default_factory=Tally)


class Monitor:
    """Runs a flow, one activity at a time."""

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
        """Until every activity has finished; when one fails, what waits is released."""
        try:
            for each in self._running.values():
                if each.node.activity.least_inputs == 0:
                    self._open(each)
            self._sample()
            while any(not each.finished for each in self._running.values()):
                able = [each for each in self._running.values() if self._may_run(each)]
                if able:
                    chosen = self._policy.choose([self._standing(each) for each in able])
                    self._activate(next(each for each in able if each.place == chosen.place))
                else:
                    self._make_room()
                self._finish()
        finally:
            for pack in self._in_queues():
                pack.release()
        return self.record

    def _standing(self, each: _Running) -> Standing:
        given = sum(rows for port, rows in each.tally.rows_out.items() if self._graph.consumers(each.node.name, port))
        if self._next_input(each) is None:
            # What comes now comes from disk: no memory is gained by it, whatever was put aside before.
            waiting = each.supply.rows if each.supply is not None else each.tally.rows_in
            return Standing(place=each.place, queued=waiting, taken=given, given=given, seconds=each.tally.seconds)
        return Standing(
            place=each.place,
            queued=sum(queue.rows for queue in each.queues),
            taken=each.tally.rows_in,
            given=given,
            seconds=each.tally.seconds,
        )

    def _may_run(self, each: _Running) -> bool:
        """Whether the activity has something to do now, and its consumers have room for what comes of it."""
        if each.finished:
            return False
        number = self._next_input(each)
        if number is not None and number in each.node.activity.whole_inputs:
            return True
        return self._has_room(each) and (number is not None or self._can_give(each))

    def _next_input(self, each: _Running) -> int | None:
        """The input to take a pack from: one that must be complete goes before the others, which wait for it."""
        whole = each.node.activity.whole_inputs
        for number in whole:
            if each.queues[number].waiting:
                return number
        if not all(self._is_complete(each, number) for number in whole):
            return None
        return next((number for number, queue in enumerate(each.queues) if queue.waiting), None)

    def _can_give(self, each: _Running) -> bool:
        """Whether there is more to come out of it without anything going in."""
        return each.supply is not None or (each.node.activity.blocks and self._inputs_are_complete(each))

    def _is_complete(self, each: _Running, number: int) -> bool:
        return self._running[each.queues[number].edge.producer].finished and not each.queues[number].waiting

    def _inputs_are_complete(self, each: _Running) -> bool:
        return all(self._is_complete(each, number) for number in range(len(each.queues)))

    def _has_room(self, each: _Running) -> bool:
        full = any(self._queue_of[edge].is_full for edge in self._graph.consumers(each.node.name))
        return not each.outbox and not full

    def _activate(self, each: _Running) -> None:
        """Until its input is exhausted, a consumer is full, or its slot is over."""
        start, slot = self._now(), self._policy.slot
        before = (each.tally.rows_in, sum(each.tally.rows_out.values()))
        packs = 0
        while self._may_run(each) and (slot is None or not packs or self._now() - start < slot):
            began = self._now()
            packs += self._step(each)
            each.tally.seconds += self._now() - began
            self._pass_on()
            self._keep_budget()
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
        taken = each.queues[number].waiting.popleft()
        each.tally.rows_in += taken.pack.rows
        try:
            if number in each.node.activity.whole_inputs:
                self._worker.keep(each.node, number, taken.pack)
            else:
                for port, packs in self._worker.process(each.node, number, taken.pack).items():
                    self._put_out(each, port, packs)
        finally:
            taken.done()
        return 1

    def _give(self, each: _Running) -> int:
        """What a source holds, or what has become of input that had to be complete; or the activity is done."""
        if each.supply is None:
            each.supply = self._worker.supply(each.node)
        pack = each.supply.take()
        if pack is None:
            each.finished = True
            return 0
        activity = each.node.activity
        if activity.least_inputs == 0:
            each.tally.rows_in += pack.rows
        self._put_out(each, activity.ports[0], [pack])
        return 1

    def _open(self, source: _Running) -> None:
        began = self._now()
        source.supply = self._worker.supply(source.node)
        source.tally.seconds += self._now() - began

    def _put_out(self, each: _Running, port: str, packs: Sequence[Pack]) -> None:
        taken = bool(self._graph.consumers(each.node.name, port))
        each.tally.rows_out[port] = each.tally.rows_out.get(port, 0) + sum(pack.rows for pack in packs)
        for pack in packs:
            if taken and pack.rows:
                each.outbox.append((port, pack))
            else:
                pack.release()

    def _pass_on(self) -> None:
        """Move what came out into the queues of all that take it, as far as those have room."""
        for each in self._running.values():
            while each.outbox:
                port, pack = each.outbox[0]
                queues = [self._queue_of[edge] for edge in self._graph.consumers(each.node.name, port)]
                if any(queue.is_full for queue in queues):
                    break
                each.outbox.popleft()
                waiting = WaitingPack(pack=pack, users=len(queues))
                for queue in queues:
                    queue.waiting.append(waiting)

    def _finish(self) -> None:
        """Those whose producers have finished and whose queues are empty (section 3.1), and in turn their consumers."""
        found = True
        while found:
            found = False
            for each in self._running.values():
                if each.finished or each.outbox or self._can_give(each) or not self._inputs_are_complete(each):
                    continue
                each.finished = found = True

    def _make_room(self) -> None:
        """Nothing can run: what waits for another input to be complete is put on disk, and its queue grows.

        That happens where both inputs of a join come from one activity, and the one that must be complete cannot be
        because the other is full.
        """
        stuck = [
            queue
            for each in self._running.values()
            for queue in each.queues
            if queue.is_full and self._next_input(each) is None
        ]
        assert stuck, "a flow without cycles always has an activity that can run, or a full queue in its way"
        queue = min(stuck, key=lambda queue: (len(queue.waiting), queue.edge.label))
        for each in queue.waiting:
            self._spill(each.pack)
        queue.limit += self._limits.packs
        self.record.grown_queues[queue.edge.label] = queue.limit
        self._pass_on()
        self._keep_budget()
        self._sample()

    def _keep_budget(self) -> None:
        """Put on disk what has the most packs before it, until the rest is within the budget."""
        if self._limits.memory is None:
            return
        packs = {id(pack): pack for pack in self._in_queues() if pack.size}
        excess = sum(pack.size for pack in packs.values()) - self._limits.memory
        if excess <= 0:
            return
        ahead: dict[int, int] = {}
        for queue in self._queue_of.values():
            for position, each in enumerate(queue.waiting):
                ahead[id(each.pack)] = min(position, ahead.get(id(each.pack), position))
        # Packs in no queue yet go behind all others.
        for key in sorted(packs, key=lambda key: ahead.get(key, len(ahead)), reverse=True):
            if excess <= 0:
                return
            excess -= packs[key].size
            self._spill(packs[key])

    def _spill(self, pack: Pack) -> None:
        if pack.size:
            pack.spill()
            self.record.spilled_packs += 1

    def _in_queues(self) -> list[Pack]:
        """All packs that wait, each once."""
        waiting = [each.pack for queue in self._queue_of.values() for each in queue.waiting]
        coming = [pack for each in self._running.values() for _, pack in each.outbox]
        return list({id(pack): pack for pack in (*waiting, *coming)}.values())

    def _sample(self) -> None:
        packs = self._in_queues()
        self.record.memory.append(
            MemorySample(
                time=self._now(),
                packs=len(packs),
                rows=sum(pack.rows for pack in packs),
                size=sum(pack.size for pack in packs),
                by_edge={queue.edge.label: queue.size for queue in self._queue_of.values() if queue.waiting},
            )
        )
