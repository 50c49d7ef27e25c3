"""Waiting updates and tracks: who gets which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from freshtide.scheduling.allocations import Allocation, Lane, Load, Partition, lowest
from freshtide.scheduling.conditions import NOT_RUNNING, TableStatus
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.orderings import Ordering
from freshtide.scheduling.ready import Entry, ReadyQueue

# Sharing out takes time in proportion to the tables: many that drift at once are shared out together.
_DRIFTED_SHARE: Final = 0.01


class Dispatcher:
    """A queue per lane, and the tracks: what runs on each, and the set of those on which nothing does.

    Golab et al. 2011 go through all waiting updates, best first, and give each the first available track that it may
    use. All tables of a lane may use the same tracks, so only the best of each lane has to be looked at: a decision
    takes time in proportion to the number of lanes, and to the logarithm of the number of tables.
    """

    def __init__(
        self,
        tables: list[KnownTable],
        *,
        tracks: int,
        allocation: Allocation,
        ordering: Ordering,
        repartition: float,
        planned_by: Callable[[KnownTable], float],
    ) -> None:
        """`tables` are in the order of their places. `planned_by` is the cost that sharing out goes by."""
        self._tables = tables
        self.tracks = tracks
        self._on: list[KnownTable | None] = [None] * tracks
        """What runs on each track."""
        self._allocation = allocation
        self._repartition = repartition
        self._planned_by = planned_by
        self.ordering = ordering
        self._all = self.available = (1 << tracks) - 1
        """The tracks on which nothing runs. Only `take` and `give_back` write it."""
        self.waiting = 0
        """How many candidates stand in the queues."""
        self.is_stirred = True
        """Whether one of those that wait may have a track now that had none before."""
        self.partition: Partition
        self.queues: list[ReadyQueue]
        self._planned: list[float] = []
        """By place: the cost when the tracks were last shared out."""
        self._drifted: set[int] = set()
        self.share_out()

    def share_out(self) -> None:
        """Divide the tracks anew among the tables that take part."""
        self.stir()
        tables = self._tables
        taking_part = [table for table in tables if table.condition.status is TableStatus.ACTIVE]
        loads = [
            Load(table=table.name, period=table.candidate.period, execution=table.estimate.per_period)
            for table in taking_part or tables
        ]
        self.partition = self._allocation.partition(loads, self.tracks)
        self.queues = [self.ordering.queue() for _ in self.partition.lanes]
        self._by_lane = list(zip(self.queues, self.partition.lanes, strict=True))
        for table in tables:
            table.queue, table.lane = self._by_lane[self.partition.lane_of.get(table.name, 0)]
            candidate = table.candidate
            if candidate.ticket:
                candidate.ticket = 0
                table.queue.put(candidate)
        self._planned = [self._planned_by(table) for table in tables]
        self._drifted.clear()

    def is_outdated(self, learnt_of: KnownTable) -> bool:
        """Whether so many costs have moved since the tracks were shared out that it is to be done again."""
        factor, cost, planned = self._repartition, self._planned_by(learnt_of), self._planned[learnt_of.place]
        if cost <= factor * planned and planned <= factor * cost:
            return False
        self._drifted.add(learnt_of.place)
        return len(self._drifted) >= _DRIFTED_SHARE * len(self._tables)

    def take(self, table: KnownTable, track: int) -> None:
        """An update of the table runs there from now on, and waits no longer."""
        if table.candidate.ticket:
            self.withdraw(table)
        self._on[track] = table
        self.available &= ~(1 << track)
        table.condition.track = track

    def take_over(self, table: KnownTable) -> None:
        """An update of the table has been running since before this dispatcher: also on a track that is to go."""
        track = table.condition.track
        self._on += [None] * (track + 1 - len(self._on))
        self.take(table, track)

    def give_back(self, table: KnownTable) -> None:
        """The table's update has ended, and leaves its track to others."""
        track = table.condition.track
        assert track != NOT_RUNNING, f"no update of '{table.name}' is running"
        self._on[track] = None
        # A track that was there before, and is no longer, takes nothing else.
        self.available |= (1 << track) & self._all
        self.is_stirred = True
        table.condition.track = NOT_RUNNING

    @property
    def running(self) -> dict[int, KnownTable]:
        """Tracks to what runs on them."""
        return {track: table for track, table in enumerate(self._on) if table is not None}

    def put(self, table: KnownTable) -> None:
        """Let a table wait, or give it its new rank if it is waiting already."""
        if not table.candidate.ticket:
            self.waiting += 1
        table.queue.put(table.candidate)

    def withdraw(self, table: KnownTable) -> None:
        """Let a table that waits do so no longer."""
        self.waiting -= 1
        table.queue.withdraw(table.candidate)

    def stir(self) -> None:
        """Have the next decision look at those that wait, though no track has been given back."""
        self.is_stirred = True

    def may_go_on(self) -> bool:
        """Whether somebody waits who may have a track now and had none before. It is told once per change."""
        stirred, self.is_stirred = self.is_stirred, False
        return stirred and self.waiting > 0

    def choose(self) -> tuple[KnownTable, int] | None:
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
        return self._tables[found[1]], lowest(where)

    def place(self, lane: Lane) -> int:
        """The idle tracks that a lane's next update may take, of the kind it prefers most."""
        available = self.available
        tracks = available & lane.own or available & lane.shared or available & lane.free
        if tracks:
            return tracks
        tracks = available & lane.promotable
        if tracks and not self.partition.aggressive:
            return tracks & ~self._awaited()
        return tracks

    def _awaited(self) -> int:
        """The idle tracks that updates which wait would be given as their homes, the best first.

        Lanes share tracks, so that what one of them takes decides where the next can go.
        """
        idle = self.available
        # No lane can get more of them than there are.
        entries = sorted(entry for queue in self.queues for entry in queue.best(idle.bit_count()))
        for _, place, *_ in entries:
            lane = self._tables[place].lane
            home = idle & lane.own or idle & lane.shared
            idle &= ~(home & -home)
        return self.available & ~idle

    def placed(self, table: KnownTable, track: int) -> str:
        """In a word, why the update may run there."""
        lane, bit = table.lane, 1 << track
        kinds = {"home": lane.own, "shared": lane.shared, "free": lane.free, "promoted": lane.promotable}
        return next(kind for kind, tracks in kinds.items() if tracks & bit)

    def best(self, count: int) -> list[KnownTable]:
        """The waiting tables over all lanes, best first."""
        entries = sorted(entry for queue in self.queues for entry in queue.best(count))[:count]
        return [self._tables[place] for _, place, *_ in entries]

    @property
    def idle(self) -> bool:
        return self.available == self._all and not self.waiting and not any(self._on[self.tracks :])
