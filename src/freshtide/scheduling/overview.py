"""What can be asked of a scheduler: of one that decides, and of one that looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freshtide.core.costs import Cost
from freshtide.guarantees import Breach
from freshtide.scheduling.adaptive import Adaptation
from freshtide.scheduling.allocations import Partition, Shortage
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.conditions import RetryPolicy
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.expectations import Expectations
from freshtide.scheduling.invariants import Invariants
from freshtide.scheduling.linking import linked_tables
from freshtide.scheduling.orderings import ORDERINGS, ReservedDeadline
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.reasons import TableView, copy_of, view_of
from freshtide.scheduling.scheduled import ScheduledTable
from freshtide.scheduling.situation import Situation


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
        self._policy = policy
        self._explaining = explaining
        known = linked_tables(list(tables), policy)
        self._ordering = ORDERINGS[policy.ordering](uniform) if policy.adaptive is None else ReservedDeadline()
        self._dispatcher = Dispatcher(
            known,
            tracks=tracks,
            allocation=policy.allocation,
            ordering=self._ordering,
            repartition=policy.repartition,
        )
        self._adaptation: Adaptation | None = None
        if policy.adaptive is not None:
            self._adaptation = Adaptation(known, tracks=tracks, settings=policy.adaptive, reach=reach)
        self._situation = Situation(
            known,
            self._dispatcher,
            expectations=Expectations(known) if self._ordering.looks_ahead else None,
            adaptation=self._adaptation,
            retry=retry or RetryPolicy(),
            reach=reach,
        )
        self._invariants = Invariants(self._situation)

    def look(self, table: str) -> TableView:
        """How a table stands, for explanations."""
        known = self._situation.tables[table]
        reservation = None if self._adaptation is None else self._adaptation.look(known)
        return view_of(known, self._dispatcher, reservation)

    def best(self, count: int) -> list[Candidate]:
        """The waiting candidates, best first."""
        return [copy_of(table.candidate) for table in self._dispatcher.best(count)]

    def because(self, candidate: Candidate) -> str:
        """In words: what puts a candidate where it is."""
        return self._ordering.because(candidate)

    def cost(self, table: str) -> Cost:
        """What has been learnt of a table's execution times."""
        return self._situation.tables[table].estimate.model

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
    def retrying(self) -> bool:
        """Whether a failed update is still to be tried again."""
        return bool(self._situation.retrying)

    @property
    def held(self) -> bool:
        """Whether nothing is started, because the surroundings are not well."""
        return self._situation.held
