"""What decides on the next update of a table: its tracks, its priority, how far it may go, who goes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.core.durations import format_duration
from freshtide.core.instants import format_instant
from freshtide.scheduling import (
    Candidate,
    Mode,
    Onlooker,
    Prospect,
    ReservationView,
    TableView,
    tracks_of,
)

_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """How a table stands with the scheduler."""

    unit: str
    """The table, or the group it is updated with."""
    track: int | None
    prospect: Prospect
    waits: str | None
    """Why no update of the table is running; None while one is."""
    is_tried_again: bool
    candidate: Candidate | None
    """The update that waits, if one does."""
    queue: tuple[Candidate, ...]
    """All that waits, best first."""
    reservation: ReservationView | None = None
    """Under the adaptive scheduler, as far as the run that goes on has told."""

    @property
    def is_chopped(self) -> bool:
        """Whether the next update may not go as far as there is data."""
        newest = self.prospect.newest
        return self.candidate is not None and newest is not None and self.candidate.upto < newest

    def as_json(self) -> dict[str, Any]:
        prospect, candidate = self.prospect, self.candidate
        lane = prospect.lane
        chopped = None
        if candidate is not None and prospect.newest is not None and self.is_chopped:
            upto, newest = format_instant(candidate.upto), format_instant(prospect.newest)
            chopped = {"at_most": prospect.stride, "upto": upto, "newest": newest}
        return {
            "updated_as": self.unit,
            "lane": {
                "label": lane.label,
                "home": tracks_of(lane.home),
                "free": tracks_of(lane.free),
                "promotable": tracks_of(lane.promotable),
            },
            "priority": {
                "own": prospect.own_priority,
                "scheduled": prospect.priority,
                "inherited_from": list(prospect.inherited_from),
            },
            "benefit": None if candidate is None else candidate.benefit,
            "chopped": chopped,
            "first": self.queue[0].table if self.queue else None,
            "reservation": _reservation_json(self.reservation),
            "waits": self.waits,
        }


def outlook_of(scheduler: Onlooker, unit: str, most: int, *, traced: TableView | None = None) -> Outlook:
    """Look at a unit, and at so many that wait.

    What was released when, and so its mode, is known to the scheduler of the run alone, and to its trace.
    """
    look = scheduler.look(unit)
    reserved = look.reservation is not None
    return Outlook(
        unit=unit,
        track=look.track,
        prospect=scheduler.prospect(unit),
        waits=(traced.waits if traced is not None else None) if reserved else look.waits,
        reservation=traced.reservation if traced is not None and reserved else None,
        is_tried_again=look.retry_at is not None,
        candidate=look.candidate,
        queue=tuple(scheduler.best(most)),
    )


def group_story(outlook: Outlook, others: Sequence[str]) -> list[str]:
    """With whom the table is updated."""
    if not others:
        return []
    now = "" if outlook.track is None else f", which is being updated on track {outlook.track}"
    return [f"It is updated together with {_named(others)} as the group '{outlook.unit}'{now}."]


def prospect_story(outlook: Outlook) -> list[str]:
    """With whose priority, where, and how far the next update goes."""
    prospect, candidate = outlook.prospect, outlook.candidate
    told = []
    if prospect.inherited_from:
        told.append(
            f"Its priority of {prospect.own_priority:g} is raised to {prospect.priority:g} for the sake of "
            f"{_named(prospect.inherited_from)}, computed from it."
        )
    told.append(_tracks_story(prospect))
    if candidate is not None and prospect.newest is not None and prospect.stride is not None and outlook.is_chopped:
        told.append(
            f"One update gains {format_duration(prospect.stride)} at most: the next one goes to "
            f"{format_instant(candidate.upto)}, although there is data up to {format_instant(prospect.newest)}."
        )
    return told


def reservation_story(outlook: Outlook, now: float) -> list[str]:
    """In which mode the table is, how often it is updated in it, and when next."""
    reservation = outlook.reservation
    if reservation is None:
        return []
    because = ", because it has fallen behind" if reservation.mode is Mode.RECOVERY else ""
    early = ["Its update was started before its release, on a track that was idle."] if reservation.runs_early else []
    told = (
        f"It is in {reservation.mode} mode{because}: one update is released every {format_duration(reservation.period)}"
    )
    coming = reservation.next_release
    if coming is None:
        return [f"{told}.", *early]
    return [f"{told}, the next at {format_instant(coming)} (in {format_duration(max(0.0, coming - now))}).", *early]


def queue_story(scheduler: Onlooker, outlook: Outlook, *, run_going_on: bool) -> list[str]:
    """Who goes first and why, and why the table waits."""
    told = _place_story(scheduler, outlook)
    waits = outlook.candidate is not None or outlook.is_tried_again
    if waits and not run_going_on:
        told.append("No run is going on: it waits for `freshtide run`.")
    elif waits and outlook.waits is not None:
        told.append(f"It waits: {outlook.waits}.")
    return told


def _place_story(scheduler: Onlooker, outlook: Outlook) -> list[str]:
    candidate, queue = outlook.candidate, outlook.queue
    if candidate is None:
        return []
    first = queue[0]
    # An ordering by benefit tells it in its own words.
    benefit = [] if scheduler.ranks_by_benefit else [f"Its marginal benefit is {candidate.benefit:.3g}."]
    if first.table == outlook.unit:
        return [f"It is first in the queue: {scheduler.because(first)}.", *benefit]
    place = [waiting.table for waiting in queue].index(outlook.unit)
    return [
        f"It is number {place + 1} of {len(queue)} in the queue. '{first.table}' goes first, because "
        f"{scheduler.because(first)}; for '{outlook.unit}': {scheduler.because(candidate)}.",
        *benefit,
    ]


def _reservation_json(reservation: ReservationView | None) -> dict[str, Any] | None:
    if reservation is None:
        return None
    coming = reservation.next_release
    return {
        "mode": str(reservation.mode),
        "period": reservation.period,
        "next_release": None if coming is None else format_instant(coming),
        "runs_early": reservation.runs_early,
    }


def _tracks_story(prospect: Prospect) -> str:
    lane = prospect.lane
    home, others = tracks_of(lane.home), []
    if free := tracks_of(lane.free):
        others.append(f"use {_tracks(free)}, nobody's home")
    if promotable := tracks_of(lane.promotable):
        others.append(f"be promoted to {_tracks(promotable)}")
    may = f"; if that is busy it may {' or '.join(others)}" if others else ""
    return f"Its home is {_tracks(home)} ({lane.label}){may}."


def _tracks(tracks: Sequence[int]) -> str:
    return f"track{'' if len(tracks) == 1 else 's'} {_joined([str(track) for track in tracks])}"


def _named(tables: Sequence[str]) -> str:
    quoted = [f"'{table}'" for table in tables]
    more = len(quoted) - _NAMED
    return _joined(quoted) if more <= 0 else _joined([*quoted[:_NAMED], f"{more} more"])


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
