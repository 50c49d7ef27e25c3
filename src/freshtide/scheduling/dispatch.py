"""Waiting updates and idle tracks: who gets which."""

from __future__ import annotations

from collections.abc import Sequence

from freshtide.scheduling.allocations import Allocation, Lane, Load, Partition, lowest, tracks_of
from freshtide.scheduling.orderings import Ordering
from freshtide.scheduling.ready import Entry, ReadyQueue
from freshtide.scheduling.states import TableState, TableStatus


class Dispatcher:
    """A queue per lane, and the set of tracks on which nothing runs.

    Golab et al. 2011 go through all waiting updates, best first, and give each the first available track that it may
    use. All tables of a lane may use the same tracks, so only the best of each lane has to be looked at: a decision
    takes time in proportion to the number of lanes, and to the logarithm of the number of tables.
    """

    def __init__(
        self, states: Sequence[TableState], *, tracks: int, allocation: Allocation, ordering: Ordering
    ) -> None:
        # By place.
        self._states = states
        self._tracks = tracks
        self._allocation = allocation
        self.ordering = ordering
        self.available = (1 << tracks) - 1
        self.waiting = 0
        """How many candidates stand in the queues."""
        self.partition: Partition
        self.lanes: tuple[Lane, ...]
        self.queues: list[ReadyQueue]
        self.share_out()

    def share_out(self) -> None:
        """Divide the tracks anew among the tables that take part."""
        taking_part = [state for state in self._states if state.status is TableStatus.ACTIVE]
        loads = [Load(table=s.table, period=s.period, execution=s.period_cost) for s in taking_part or self._states]
        self.partition = self._allocation.partition(loads, self._tracks)
        self.lanes = self.partition.lanes
        self.queues = [self.ordering.queue() for _ in self.lanes]
        self._by_lane = list(zip(self.queues, self.lanes, strict=True))
        for state in self._states:
            waiting = state.ticket > 0
            state.lane = self.partition.lane_of.get(state.table, 0)
            state.queue = self.queues[state.lane]
            state.own = self.lanes[state.lane].own
            state.ticket = 0
            state.partitioned_cost = state.period_cost
            if waiting:
                state.queue.put(state)

    def put(self, state: TableState) -> None:
        """Let a table wait, or give it its new rank if it is waiting already."""
        if not state.ticket:
            self.waiting += 1
        state.queue.put(state)

    def withdraw(self, state: TableState) -> None:
        """Let a table that waits do so no longer."""
        self.waiting -= 1
        state.queue.withdraw(state)

    def choose(self) -> tuple[TableState, int] | None:
        """The best waiting update that an idle track may take, and that track; they stay where they are."""
        found: Entry | None = None
        where, available = 0, self.available
        for queue, lane in self._by_lane:
            entry = queue.head()
            if entry is None or (found is not None and found < entry):
                continue
            tracks = available & lane.own or self.place(lane)
            if tracks:
                found, where = entry, tracks
        if found is None:
            return None
        return self._states[found[1]], lowest(where)

    def place(self, lane: Lane) -> int:
        """The idle tracks that a lane's next update may take, of the kind it prefers most."""
        available = self.available
        tracks = available & lane.own or available & lane.shared or available & lane.free
        if tracks:
            return tracks
        tracks = available & lane.promotable
        if tracks and not self.partition.aggressive:
            return sum(1 << track for track in tracks_of(tracks) if not self.awaited(track))
        return tracks

    def awaited(self, track: int) -> bool:
        """Whether an update waits that would be given this idle track as its home."""
        bit = 1 << track
        for queue, lane in self._by_lane:
            if not lane.home & bit or not len(queue):
                continue
            # Its updates take the lane's own tracks first, then the one it shares.
            before = self.available & lane.own & (bit - 1) if lane.own & bit else self.available & lane.own
            if len(queue) > before.bit_count():
                return True
        return False

    def placed(self, state: TableState, track: int) -> str:
        """In a word, why the update may run there."""
        lane, bit = self.lanes[state.lane], 1 << track
        kinds = {"home": lane.own, "shared": lane.shared, "free": lane.free, "promoted": lane.promotable}
        return next(kind for kind, tracks in kinds.items() if tracks & bit)

    def best(self, count: int) -> list[TableState]:
        """The waiting tables over all lanes, best first."""
        entries = sorted(entry for queue in self.queues for entry in queue.best(count))[:count]
        return [self._states[place] for _, place, *_ in entries]

    @property
    def idle(self) -> bool:
        return self.available == (1 << self._tracks) - 1 and not self.waiting
