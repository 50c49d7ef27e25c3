"""What the scheduler knows of a table, and how it changes."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum

from freshtide.core.costs import SHORTEST, Cost, CostModel
from freshtide.scheduling.candidates import Candidate

# A feed that declares no period is taken for one that delivers every minute: ordering and sharing out need a number.
ASSUMED_PERIOD = 60.0
NOT_RUNNING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledTable:
    """What the scheduler has to be told of a table, and the state it starts from."""

    name: str
    sources: tuple[str, ...] = ()
    priority: float = 1.0
    period: float | None = None
    """None: unknown; then updates are not chopped."""
    cost: Cost = field(default_factory=CostModel)
    freshness: float | None = None
    """None: nothing has ever been loaded."""
    safe: float | None = None
    paused: bool = False
    failed: bool = False
    revised_sources: bool = False
    """Whether sources were revised after the table's last update."""
    expected_at: float | None = None
    """When data, or a movement of the sources, is expected next."""


class TableStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    FAILED = "failed"


@dataclass(slots=True, kw_only=True)
class TableState(Candidate):
    """The changing part of a table, and its candidate. Invariant: `in_flight` is empty unless the table is running."""

    spec: ScheduledTable
    stride: float
    """How much freshness one update may gain: the limit of chopping."""
    freshness: float | None
    safe: float | None
    model: Cost
    alpha: float
    beta: float
    status: TableStatus
    sources: list[TableState] = field(default_factory=list)
    dependents: list[TableState] = field(default_factory=list)
    pending: list[float] = field(default_factory=list)
    """Time stamps that no update has gone up to yet, ascending: of files, or for a view of its trailing edge."""
    since: list[float] = field(default_factory=list)
    """When each of them came up; never descending, so that the first is the oldest."""
    in_flight: list[float] = field(default_factory=list)
    in_flight_since: list[float] = field(default_factory=list)
    track: int = NOT_RUNNING
    running_rebuild: bool = False
    running_revision: bool = False
    failures: int = 0
    retry_at: float | None = None
    rebuild_wanted: bool = False
    revision_wanted: bool = False
    """Whether sources have changed behind the table's back: it is to be updated even if it gets no fresher."""
    wanted_since: float = 0.0
    """When a rebuild or a revision was asked for."""
    touched: bool = False
    waiting: bool = False
    lane: int = 0
    partitioned_cost: float = 0.0
    """E(P) when the tables were last shared out."""
    expected_at: float = math.inf

    def arrived(self, timestamp: float, now: float) -> None:
        """Something to go up to has come."""
        pending, since = self.pending, self.since
        if not pending or timestamp >= pending[-1]:
            pending.append(timestamp)
            since.append(now)
        else:
            at = bisect_right(pending, timestamp)
            pending.insert(at, timestamp)
            # An older file that comes late waits no shorter for it than what it stands before.
            since.insert(at, min(now, since[at]))

    def seen_edge(self, edge: float | None, now: float) -> None:
        """The trailing edge of a view's sources is there now."""
        pending = self.pending
        # It can have gone back: a source has been set back by hand.
        while pending and (edge is None or pending[-1] > edge):
            pending.pop()
            self.since.pop()
        freshness = self.freshness
        while pending and freshness is not None and pending[0] <= freshness:
            del pending[0], self.since[0]
        if edge is None or (freshness is not None and edge <= freshness):
            return
        if (not pending or pending[-1] < edge) and (not self.in_flight or self.in_flight[-1] < edge):
            pending.append(edge)
            self.since.append(now)

    @property
    def runnable(self) -> bool:
        return self.track == NOT_RUNNING and self.status is TableStatus.ACTIVE and self.retry_at is None

    def propose(self) -> bool:
        """Bring the candidate up to date; False if there is nothing to update."""
        pending = self.pending
        if self.rebuild_wanted or self.revision_wanted:
            return self._propose_again()
        if not pending:
            return False
        goal = pending[-1]
        freshness = self.freshness
        if freshness is None:
            # Nothing is loaded yet, so the first data stands for one period, like any other.
            delta = goal - pending[0] + self.period
        else:
            if goal > freshness + self.stride:
                goal = self.chopped(freshness)
            delta = goal - freshness if goal > freshness else 0.0
        self.upto, self.delta, self.released_at = goal, delta, self.since[0]
        cost = self.alpha + self.beta * delta
        self.cost = cost if cost > SHORTEST else SHORTEST
        return True

    def chopped(self, freshness: float) -> float:
        """The largest pending time stamp within the stride, and at least the first (Golab et al. 2011, section 3.4)."""
        within = bisect_right(self.pending, freshness + self.stride)
        return self.pending[max(0, within - 1)]

    def _propose_again(self) -> bool:
        """Something loaded before is to be computed anew."""
        goal, newest = self.freshness, self.pending[-1] if self.pending else None
        if newest is not None and self.freshness is not None:
            newest = self.chopped(self.freshness)
        keeps_its_place = self.rebuild_wanted and not self.sources and goal is not None
        if newest is not None and not keeps_its_place:
            goal = newest
        if goal is None:
            return False
        start = self.freshness
        if start is None:
            start = (self.pending[0] if self.pending else goal) - self.period
        delta = max(0.0, goal - start)
        if self.rebuild_wanted:
            # It gains no freshness by itself, but what waits behind it does, and it must not wait for ever.
            delta = max(delta, self.period, (goal if newest is None else newest) - start)
        self.upto, self.delta = goal, delta
        self.released_at = min(self.wanted_since, self.since[0]) if self.since else self.wanted_since
        self.cost = max(self.alpha + self.beta * delta, SHORTEST)
        return True

    def start(self, track: int) -> None:
        """Take what is pending up to the goal with the update."""
        self.track = track
        if self.rebuild_wanted or self.revision_wanted:
            self.running_rebuild, self.rebuild_wanted = self.rebuild_wanted, False
            self.running_revision, self.revision_wanted = self.revision_wanted, False
            if self.running_rebuild and not self.sources:
                return
        pending = self.pending
        if not pending or pending[-1] <= self.upto:
            self.in_flight, self.in_flight_since = pending, self.since
            self.pending, self.since = [], []
        else:
            taken = bisect_right(pending, self.upto)
            self.in_flight, self.pending = pending[:taken], pending[taken:]
            self.in_flight_since, self.since = self.since[:taken], self.since[taken:]

    def learn(self, gained: float, seconds: float) -> None:
        """An update that gained so much freshness took so long."""
        model = self.model.observed(gained, seconds)
        if model is not self.model:
            self.model = model
            self.alpha, self.beta = model.coefficients

    def finished(self) -> None:
        self.failures = 0
        self._vacate()

    def failed(self) -> None:
        """What the update had taken is pending again."""
        taken, since = self.in_flight, self.in_flight_since
        self.failures += 1
        self.rebuild_wanted |= self.running_rebuild
        self.revision_wanted |= self.running_revision
        self._vacate()
        for timestamp, came in zip(taken, since, strict=True):
            self.arrived(timestamp, came)
        for at in range(len(self.since) - 2, -1, -1):
            self.since[at] = min(self.since[at], self.since[at + 1])

    def _vacate(self) -> None:
        self.in_flight, self.in_flight_since = [], []
        self.track = NOT_RUNNING
        self.running_rebuild = self.running_revision = False

    @property
    def period_cost(self) -> float:
        """E(P)."""
        return max(self.alpha + self.beta * self.period, SHORTEST)


def initial_state(table: ScheduledTable, place: int, *, priority: float, chopping: float | None) -> TableState:
    """The state of a table at the start."""
    alpha, beta = table.cost.coefficients
    period = table.period or ASSUMED_PERIOD
    return TableState(
        table=table.name,
        place=place,
        priority=priority,
        period=period,
        spec=table,
        stride=math.inf if chopping is None or table.period is None else chopping * table.period,
        freshness=table.freshness,
        safe=table.safe,
        model=table.cost,
        alpha=alpha,
        beta=beta,
        status=TableStatus.FAILED if table.failed else TableStatus.PAUSED if table.paused else TableStatus.ACTIVE,
        revision_wanted=table.revised_sources,
        expected_at=math.inf if table.expected_at is None else table.expected_at,
    )
