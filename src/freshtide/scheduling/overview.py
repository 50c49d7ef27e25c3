"""What can be asked of a scheduler: of one that decides, and of one that looks on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from freshtide.core.costs import Cost
from freshtide.guarantees import Breach
from freshtide.scheduling.adaptive import Adaptation
from freshtide.scheduling.aging import Aging
from freshtide.scheduling.allocations import Partition, Shortage
from freshtide.scheduling.arrears import Arrears
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.conditions import NOT_RUNNING, RetryPolicy, TableStatus
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.expectations import Expectations
from freshtide.scheduling.invariants import Invariants
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.linking import inherit, linked_tables
from freshtide.scheduling.orderings import ORDERINGS, Ordering, ReservedDeadline
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.reasons import TableView, copy_of, view_of
from freshtide.scheduling.reconfiguring import taken_over
from freshtide.scheduling.scheduled import SLACK, ScheduledTable
from freshtide.scheduling.situation import Situation
from freshtide.scheduling.slack import Slack


class Overview:
    """Tables and tracks under a policy, seen from outside."""

    def __init__(
        self,
        tables: Iterable[ScheduledTable],
        *,
        tracks: int,
        policy: Policy,
        uniform: Callable[[], float],
        retry: RetryPolicy | None = None,
        reach: Callable[[str, float], float | None] | None = None,
        explaining: bool = True,
    ) -> None:
        """`uniform` draws from [0, 1) for the ordering `random`; `explaining` makes each decision carry its reasons."""
        self._uniform = uniform
        self._explaining = explaining
        ordering = self._ordering_of(policy)
        known = linked_tables(list(tables), policy, ages=ordering.ages, reach=reach)
        self._set_up(known, ordering, tracks=tracks, policy=policy, retry=retry or RetryPolicy(), reach=reach)

    def _ordering_of(self, policy: Policy) -> Ordering:
        return ORDERINGS[policy.ordering](self._uniform) if policy.adaptive is None else ReservedDeadline()

    def _set_up(
        self,
        known: list[KnownTable],
        ordering: Ordering,
        *,
        tracks: int,
        policy: Policy,
        retry: RetryPolicy,
        reach: Callable[[str, float], float | None] | None,
    ) -> None:
        self._policy = policy
        inherit(known, policy.inheritance)
        self._ordering = ordering
        self._dispatcher = Dispatcher(
            known,
            tracks=tracks,
            allocation=policy.allocation,
            ordering=self._ordering,
            repartition=policy.repartition,
            planned_by=_planned_by(policy),
        )
        self._adaptation: Adaptation | None = None
        if policy.adaptive is not None:
            self._adaptation = Adaptation(known, tracks=tracks, settings=policy.adaptive, reach=reach)
        slack = Slack(known, tracks) if policy.chopping == SLACK else None
        self._arrears = Arrears(slack, tracks) if self._ordering.ages else None
        self._situation = Situation(
            known,
            self._dispatcher,
            expectations=Expectations(known) if self._ordering.looks_ahead else None,
            adaptation=self._adaptation,
            aging=Aging(known) if self._ordering.ages else None,
            slack=slack,
            arrears=self._arrears,
            inheritance=policy.inheritance,
            retry=retry,
            reach=reach,
        )
        self._invariants = Invariants(self._situation)

    def reconfigure(
        self,
        tables: Iterable[ScheduledTable],
        *,
        tracks: int,
        policy: Policy,
        retry: RetryPolicy,
        redefined: Collection[str] = (),
        uniform: Callable[[], float] | None = None,
        reach: Callable[[str, float], float | None] | None = None,
    ) -> None:
        """Go on with other tables, tracks or rules. The next decision is made by them; nothing that runs is stopped.

        Tables that stay keep what is pending, how they stand and what was learnt of them, whatever state `tables` says;
        but those that are `redefined` are as good as never computed. Tables that are gone, and tracks, leave when what
        runs of them or on them has ended. Without `uniform` the same random numbers go on.
        """
        before, adaptation = self._situation, self._adaptation
        if uniform is not None:
            self._uniform = uniform
        ordering = self._ordering_of(policy)
        known = taken_over(
            list(tables), policy, before=before.tables, redefined=redefined, ages=ordering.ages, reach=reach
        )
        self._set_up(known, ordering, tracks=tracks, policy=policy, retry=retry, reach=reach)
        for table in known:
            if table.condition.track != NOT_RUNNING:
                self._dispatcher.take_over(table)
        if self._adaptation is not None and adaptation is not None:
            self._adaptation.take_over(adaptation)
        self._situation.take_over(before)

    def look(self, table: str) -> TableView:
        """How a table stands, for explanations."""
        known = self._situation.tables[table]
        reservation = None if self._adaptation is None else self._adaptation.look(known)
        return view_of(known, self._dispatcher, reservation)

    def knows(self, table: str) -> bool:
        """Whether the table is declared, or its last update still runs."""
        return table in self._situation.tables

    def best(self, count: int) -> list[Candidate]:
        """The waiting candidates, best first."""
        return [copy_of(table.candidate) for table in self._dispatcher.best(count)]

    def because(self, candidate: Candidate) -> str:
        """In words: what puts a candidate where it is."""
        return self._ordering.because(candidate)

    def cost(self, table: str) -> Cost:
        """What has been learnt of a table's execution times."""
        return self._situation.tables[table].estimate.model

    def as_it_stands(self, table: str) -> ScheduledTable:
        """What a scheduler is told of a table that takes over from this one: it must be told what is pending as well.

        That a failed update is to be tried again is forgotten, and so is when data is expected.
        """
        known = self._situation.tables[table]
        condition = known.condition
        return replace(
            known.spec,
            cost=known.estimate.model,
            freshness=condition.freshness,
            safe=condition.safe,
            paused=condition.status is TableStatus.PAUSED,
            failed=condition.status is TableStatus.FAILED,
            phase=0.0,
            expected_at=None,
        )

    def rebuilds(self, table: str) -> bool:
        """Whether a table is to be computed anew, or still is."""
        pending = self._situation.tables[table].pending
        return pending.rebuild_wanted or pending.rebuild_taken

    def pending(self, table: str) -> list[float]:
        """The time stamps that no update has brought into a table yet, those of a running one among them."""
        return sorted(set(self._situation.tables[table].pending.stamps))

    def check(self) -> None:
        """Assert what holds between two calls (`scheduling/invariants.py`), in time proportional to the tables."""
        self._invariants.check()

    @property
    def partition(self) -> Partition:
        """How the tracks are shared out at present."""
        return self._dispatcher.partition

    @property
    def shortage(self) -> Shortage | None:
        """Why the tracks do not suffice for what the allocation promises; None if they do."""
        return self._dispatcher.partition.shortage

    @property
    def breaches(self) -> list[Breach]:
        """Why reservations cannot be kept, under the adaptive scheduler; nothing if they can."""
        return [] if self._adaptation is None else self._adaptation.breaches

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing could: all that waits is paused, failed or to be retried."""
        return self._dispatcher.idle and (self._adaptation is None or not self._adaptation.holds_back)

    @property
    def leaving(self) -> list[str]:
        """The tables that are declared no longer, and whose last updates are still running."""
        tables = self._situation.tables.values()
        return [table.name for table in tables if table.condition.status is TableStatus.LEAVING]

    @property
    def retrying(self) -> bool:
        """Whether a failed update is still to be tried again."""
        return bool(self._situation.retrying)

    @property
    def held(self) -> bool:
        """Whether nothing is started, because the surroundings are not well."""
        return self._situation.held


def _planned_by(policy: Policy) -> Callable[[KnownTable], float]:
    """What tracks or shares of them are given by, for a period of data: what updates take, on average or at most."""
    adaptive = policy.adaptive
    if adaptive is None:
        return lambda table: table.estimate.per_period
    return lambda table: adaptive.reserved_for(table.estimate.model, table.candidate.period)
