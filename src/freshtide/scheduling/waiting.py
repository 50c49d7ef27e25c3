"""Why a table is not being updated, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freshtide.core.durations import format_duration
from freshtide.core.instants import format_instant
from freshtide.scheduling.adaptive import ReservationView
from freshtide.scheduling.allocations import Lane, tracks_of
from freshtide.scheduling.conditions import NOT_RUNNING, TableStatus
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.known import KnownTable

NEXT = "it is the next to start"


def why_waiting(table: KnownTable, dispatcher: Dispatcher, reservation: ReservationView | None = None) -> str | None:
    """The first thing that keeps an update of the table from starting; None if it is running."""
    condition = table.condition
    if condition.track != NOT_RUNNING:
        return None
    if condition.status is not TableStatus.ACTIVE:
        return {TableStatus.PAUSED: "it is paused", TableStatus.FAILED: "it has failed too often"}[condition.status]
    if condition.retry_at is not None:
        return f"its last update failed and is tried again at {format_instant(condition.retry_at)}"
    if not table.candidate.ticket:
        return _not_released(reservation) or _nothing_to_do(table)
    if dispatcher.place(table.lane) and dispatcher.best(1)[0] is table:
        return NEXT
    return why_not_placed(table, dispatcher)


def why_not_placed(table: KnownTable, dispatcher: Dispatcher) -> str:
    """Why none of the tracks takes a waiting update, or that a better one goes first."""
    lane, running = table.lane, dispatcher.running
    if dispatcher.place(lane):
        return f"{dispatcher.ordering.behind}: a better update takes the track"
    told = [_busy("home track", [track for track in tracks_of(lane.home) if track in running], running)]
    if free := [track for track in tracks_of(lane.free) if track in running]:
        told.append(_busy("free track", free, running))
    told += _elsewhere(lane, dispatcher)
    return "; ".join(told)


def _elsewhere(lane: Lane, dispatcher: Dispatcher) -> list[str]:
    """Of the tracks that are neither its home nor free: why the update is not promoted to one."""
    running = dispatcher.running
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


def _nothing_to_do(table: KnownTable) -> str:
    if not table.sources and table.spec.update_stream:
        return "no update is pending"
    if not table.sources:
        return "no data has arrived since its last update"
    return _sources_hold_back(table)


def _sources_hold_back(table: KnownTable) -> str:
    empty = [source for source in table.references if source.condition.freshness is None]
    if empty:
        return f"reference table not loaded: '{empty[0].name}' has no data yet"
    if not table.timed_sources:
        return "none of its reference tables has changed"
    oldest = min(table.timed_sources, key=lambda source: _reached(source.condition.safe))
    edge = table.edge
    if edge is None:
        return f"source not fresh: '{oldest.name}' has no data yet"
    if table.condition.freshness is None or edge > table.condition.freshness:
        return f"source not fresh: '{oldest.name}' has not reached the end of the next bucket"
    return f"source not fresh: '{oldest.name}' has not moved on"


def _reached(safe: float | None) -> float:
    return float("-inf") if safe is None else safe


def _busy(kind: str, tracks: Sequence[int], running: Mapping[int, KnownTable]) -> str:
    told = _joined([f"{track} ('{running[track].name}')" for track in tracks])
    return f"{kind}{'' if len(tracks) == 1 else 's'} {told} {_is(tracks)} busy"


def _named(kind: str, tracks: Sequence[int]) -> str:
    return f"{kind}{'' if len(tracks) == 1 else 's'} {_joined([str(track) for track in tracks])}"


def _is(tracks: Sequence[int]) -> str:
    return "is" if len(tracks) == 1 else "are"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
