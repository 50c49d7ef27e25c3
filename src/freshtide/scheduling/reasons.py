"""The scheduler seen from outside: how a table stands, and why an update was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.core.commands import Decision, RunnerUp
from freshtide.scheduling.adaptive import ReservationView
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.states import NOT_RUNNING, TableState, TableStatus
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


def view_of(
    state: TableState,
    dispatcher: Dispatcher,
    running: Mapping[int, TableState],
    reservation: ReservationView | None,
) -> TableView:
    """`running` maps tracks to what runs on them."""
    return TableView(
        name=state.table,
        freshness=state.freshness,
        status=state.status,
        track=None if state.track == NOT_RUNNING else state.track,
        pending=len(state.pending) - state.taken,
        retry_at=state.retry_at,
        candidate=copy_of(state) if state.ticket else None,
        lane=dispatcher.lanes[state.lane].label,
        waits=why_waiting(state, dispatcher, running, reservation),
        reservation=reservation,
    )


def decision_for(
    state: TableState, track: int, dispatcher: Dispatcher, running: Mapping[int, TableState], *, allocation: str
) -> Decision:
    """Why the table's update is started on that track, before it is."""
    others = [other for other in dispatcher.best(_RUNNERS_UP + 1) if other is not state][:_RUNNERS_UP]
    return Decision(
        ordering=dispatcher.ordering.name,
        allocation=allocation,
        lane=dispatcher.lanes[state.lane].label,
        placed=dispatcher.placed(state, track),
        benefit=state.benefit,
        delta=state.delta,
        cost=state.cost,
        waiting=dispatcher.waiting - (state.ticket > 0),
        runners_up=tuple(
            RunnerUp(table=other.table, benefit=other.benefit, waits=why_not_placed(other, dispatcher, running))
            for other in others
        ),
    )


def copy_of(state: TableState) -> Candidate:
    """The table's candidate as it is now, which does not change any more."""
    return Candidate(
        table=state.table,
        place=state.place,
        priority=state.priority,
        period=state.period,
        released_at=state.released_at,
        delta=state.delta,
        cost=state.cost,
        upto=state.upto,
        due=state.due,
        update_stream=state.update_stream,
    )
