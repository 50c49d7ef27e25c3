"""Why a table is not being updated, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freshtide.core.durations import format_duration
from freshtide.core.instants import format_instant
from freshtide.core.staleness import trailing_edge
from freshtide.scheduling.adaptive import ReservationView
from freshtide.scheduling.allocations import Lane, tracks_of
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.states import NOT_RUNNING, TableState, TableStatus

NEXT = "it is the next to start"


def why_waiting(
    state: TableState,
    dispatcher: Dispatcher,
    running: Mapping[int, TableState],
    reservation: ReservationView | None = None,
) -> str | None:
    """The first thing that keeps an update of the table from starting; None if it is running."""
    if state.track != NOT_RUNNING:
        return None
    if state.status is not TableStatus.ACTIVE:
        return {TableStatus.PAUSED: "it is paused", TableStatus.FAILED: "it has failed too often"}[state.status]
    if state.retry_at is not None:
        return f"its last update failed and is tried again at {format_instant(state.retry_at)}"
    if not state.ticket:
        return _not_released(reservation) or _nothing_to_do(state)
    if dispatcher.place(dispatcher.lanes[state.lane]) and dispatcher.best(1)[0] is state:
        return NEXT
    return why_not_placed(state, dispatcher, running)


def why_not_placed(state: TableState, dispatcher: Dispatcher, running: Mapping[int, TableState]) -> str:
    """Why none of the tracks takes a waiting update, or that a better one goes first."""
    lane = dispatcher.lanes[state.lane]
    if dispatcher.place(lane):
        return f"{dispatcher.ordering.behind}: a better update takes the track"
    told = [_busy("home track", [track for track in tracks_of(lane.home) if track in running], running)]
    if free := [track for track in tracks_of(lane.free) if track in running]:
        told.append(_busy("free track", free, running))
    told += _elsewhere(lane, dispatcher, running)
    return "; ".join(told)


def _elsewhere(lane: Lane, dispatcher: Dispatcher, running: Mapping[int, TableState]) -> list[str]:
    """Of the tracks that are neither its home nor free: why the update is not promoted to one."""
    idle = tracks_of(dispatcher.available)
    promotable = [track for track in idle if lane.promotable >> track & 1]
    barred = [track for track in idle if track not in promotable]
    told = []
    if promotable:
        told.append(f"{_named('track', promotable)} {_is(promotable)} idle, but kept for an update at home there")
    if barred:
        told.append(f"not promotable to {_named('track', barred)}, which {_is(barred)} idle")
    others = [track for track in tracks_of(lane.promotable) if track in running]
    if others and not idle:
        told.append(_busy("track", others, running) + " too")
    return told


def _not_released(reservation: ReservationView | None) -> str | None:
    if reservation is None or reservation.next_release is None:
        return None
    moment, period = format_instant(reservation.next_release), format_duration(reservation.period)
    return f"its next update is released at {moment}: in {reservation.mode} mode there is one every {period}"


def _nothing_to_do(state: TableState) -> str:
    if not state.sources and state.update_stream:
        return "no update is pending"
    if not state.sources:
        return "no data has arrived since its last update"
    oldest = min(state.sources, key=lambda source: float("-inf") if source.safe is None else source.safe)
    edge = trailing_edge(source.safe for source in state.sources)
    if edge is None:
        return f"source not fresh: '{oldest.table}' has no data yet"
    if state.freshness is None or edge > state.freshness:
        return f"source not fresh: '{oldest.table}' has not reached the end of the next bucket"
    return f"source not fresh: '{oldest.table}' has not moved on"


def _busy(kind: str, tracks: Sequence[int], running: Mapping[int, TableState]) -> str:
    told = _joined([f"{track} ('{running[track].table}')" for track in tracks])
    return f"{kind}{'' if len(tracks) == 1 else 's'} {told} {_is(tracks)} busy"


def _named(kind: str, tracks: Sequence[int]) -> str:
    return f"{kind}{'' if len(tracks) == 1 else 's'} {_joined([str(track) for track in tracks])}"


def _is(tracks: Sequence[int]) -> str:
    return "is" if len(tracks) == 1 else "are"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
