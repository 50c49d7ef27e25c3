"""Why a table is not being updated, in words."""

from __future__ import annotations

from collections.abc import Sequence

from freshtide.core.staleness import trailing_edge
from freshtide.scheduling.allocations import tracks_of
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.states import NOT_RUNNING, TableState, TableStatus


def why_waiting(state: TableState, dispatcher: Dispatcher, running: Sequence[TableState | None]) -> str | None:
    """The first thing that keeps an update of the table from starting; None if it is running."""
    if state.track != NOT_RUNNING:
        return None
    if state.status is not TableStatus.ACTIVE:
        return f"it is {state.status}"
    if state.retry_at is not None:
        return "its last update failed and is to be tried again later"
    if state.entry is None:
        return _nothing_to_do(state)
    return why_not_placed(state, dispatcher, running)


def why_not_placed(state: TableState, dispatcher: Dispatcher, running: Sequence[TableState | None]) -> str:
    """Why none of the tracks takes a waiting update, or that a better one goes first."""
    lane = dispatcher.lanes[state.lane]
    if dispatcher.place(lane):
        return "lower rank: a better update takes the track"
    own = [track for track in tracks_of(lane.home) if running[track] is not None]
    told = f"home {_tracks(own, running)} busy"
    if lane.free:
        told += "; no free track is idle"
    others = [
        track for track, busy in enumerate(running) if busy is not None and not (lane.home | lane.free) >> track & 1
    ]
    idle = tracks_of(dispatcher.available)
    if idle:
        kept = [track for track in idle if lane.promotable >> track & 1]
        reason = "kept for an update whose home it is" if kept else "not promotable there"
        told += f"; track {_numbers(kept or idle)} is idle, but {reason}"
    elif others:
        told += f"; the other tracks are busy too ({_tracks(others, running)})"
    return told


def _nothing_to_do(state: TableState) -> str:
    if not state.sources:
        return "no data has arrived since its last update"
    edge = trailing_edge(source.safe for source in state.sources)
    oldest = min(state.sources, key=lambda source: float("-inf") if source.safe is None else source.safe)
    return f"source not fresh: '{oldest.table}' " + ("has no data yet" if edge is None else "has not moved on")


def _tracks(tracks: list[int], running: Sequence[TableState | None]) -> str:
    told = ", ".join(f"{track} ('{state.table}')" for track in tracks if (state := running[track]) is not None)
    return f"track{'' if len(tracks) == 1 else 's'} {told}"


def _numbers(tracks: list[int]) -> str:
    return ", ".join(str(track) for track in tracks)
