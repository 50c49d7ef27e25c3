"""The scheduler seen from outside: how a table stands, and why an update was chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from freshtide.core.commands import Decision, RunnerUp
from freshtide.scheduling.adaptive import ReservationView
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.conditions import NOT_RUNNING, TableStatus
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.waiting import why_not_placed, why_waiting

_RUNNERS_UP = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A look at a table from outside, for explanations."""

    name: str
    freshness: float | None
    status: TableStatus
    track: int | None
    pending: int
    retry_at: float | None
    candidate: Candidate | None
    lane: str
    waits: str | None
    """Why no update of the table is running; None while one is."""
    reservation: ReservationView | None
    """Under the adaptive scheduler."""


def view_of(table: KnownTable, dispatcher: Dispatcher, reservation: ReservationView | None) -> TableView:
    condition = table.condition
    return TableView(
        name=table.name,
        freshness=condition.freshness,
        status=condition.status,
        track=None if condition.track == NOT_RUNNING else condition.track,
        pending=len(table.pending.stamps) - table.pending.taken,
        retry_at=condition.retry_at,
        candidate=copy_of(table.candidate) if table.candidate.ticket else None,
        lane=table.lane.label,
        waits=why_waiting(table, dispatcher, reservation),
        reservation=reservation,
    )


def decision_for(table: KnownTable, track: int, dispatcher: Dispatcher, *, allocation: str) -> Decision:
    """Why the table's update is started on that track, before it is."""
    others = [other for other in dispatcher.best(_RUNNERS_UP + 1) if other is not table][:_RUNNERS_UP]
    candidate = table.candidate
    return Decision(
        ordering=dispatcher.ordering.name,
        allocation=allocation,
        lane=table.lane.label,
        placed=dispatcher.placed(table, track),
        benefit=candidate.benefit,
        delta=candidate.delta,
        cost=candidate.cost,
        waiting=dispatcher.waiting - (candidate.ticket > 0),
        runners_up=tuple(
            RunnerUp(table=other.name, benefit=other.candidate.benefit, waits=why_not_placed(other, dispatcher))
            for other in others
        ),
    )


def copy_of(candidate: Candidate) -> Candidate:
    """The candidate as it is now, which does not change any more and stands in no queue."""
    return replace(candidate, ticket=0, rank=None)
