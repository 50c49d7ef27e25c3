"""In full or from changes: how the next update of a view is computed, from what updates of both kinds have taken.

What an update in full takes grows with the rows of the sources, what one from changes takes with the rows that have
changed. Neither is hoped for: a way that has not been used is tried where even a careful guess promises a clear gain,
and what came of it decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from statistics import median
from typing import Any, Final

from freshtide.core.durations import format_duration

# Of each way so many updates are looked at, the last ones: a table grows, and machines change.
_KEPT: Final = 12
# Updates in full before anything else is tried: the first of a run starts cold, and says little.
_ENOUGH: Final = 3
# What an update from changes is taken to cost before there was one: so many seconds, and of what all rows take in full
# so many times the share that has changed.
_GUESSED_SECONDS: Final = 0.5
_GUESSED_SHARE: Final = 4.0
# Who leaves a way that works wants to gain by it: what is kept has to be made first, which takes longer than an update.
_CLEARLY_LESS: Final = 0.7
# Where so much of the rows has changed, all of them are as quickly read.
_MOST: Final = 0.5
# What has seemed dear may have been so by chance: it is tried again this seldom, if it is not dear beyond doubt.
_RETRIED_AFTER: Final = 64
_BEYOND_DOUBT: Final = 2.0
# After a try that came to nothing so many updates pass, twice as many after each further one.
_FIRST_REST: Final = 8
_LONGEST_REST: Final = 1_024


class Way(StrEnum):
    """How an update of a view is computed."""

    FULL = "full"
    ANEW = "anew"
    """In full, and with it what later updates follow changes by."""
    CHANGES = "changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an update has before it."""

    rows: int
    """Of the sources."""
    changed: int | None = None
    """How many of them have changed, as far as that was looked up; None: as many as the last times."""
    is_there: bool = True
    """Whether the view holds what its query gave at some time: else all of it has to be computed."""
    follows: bool = False
    """Whether the last update has left what changes are followed by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How an update is computed, and why."""

    way: Way
    why: str


Taken = tuple[tuple[int, float], ...]
"""Rows and seconds of updates, the oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What updates of a view have taken by each way."""

    definition: str = ""
    """Of what query."""
    full: Taken = ()
    anew: Taken = ()
    changes: Taken = ()
    last: Way | None = None
    """How the last update was computed."""
    in_a_row: int = 0
    """How many were so, one after the other."""
    rest: int = 0
    """Updates that are computed in full before another try."""
    in_vain: int = 0
    """Tries in a row that came to nothing, because changes did not tell what had changed."""
    against: str | None = None
    """The operator that there is no rule for."""
    why: str = ""
    """What was said of the last choice."""

    def of(self, definition: str) -> Learnt:
        """What of it holds for a query."""
        return self if self.definition == definition else Learnt(definition=definition)

    def after(self, choice: Choice, came_to: Way, *, rows: int, changed: int, seconds: float) -> Learnt:
        """What is known after one more update; `came_to` may be another way than was chosen."""
        in_a_row = self.in_a_row + 1 if came_to is self.last else 1
        learnt = replace(self, why=choice.why, last=came_to, in_a_row=in_a_row, rest=max(0, self.rest - 1))
        spent = round(max(0.0, seconds), 4)
        match came_to:
            case Way.CHANGES:
                return replace(learnt, changes=_with(self.changes, changed, spent), in_vain=0)
            case Way.ANEW:
                return replace(learnt, anew=_with(self.anew, rows, spent))
            case Way.FULL:
                learnt = replace(learnt, full=_with(self.full, rows, spent))
        if choice.way is Way.FULL:
            return learnt
        rest = min(_FIRST_REST * 2**self.in_vain, _LONGEST_REST)
        return replace(learnt, rest=rest, in_vain=self.in_vain + 1)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, told: Mapping[str, Any] | None) -> Learnt:
        if not told:
            return cls()
        known: dict[str, Any] = {name: told[name] for name in cls.__slots__ if name in told}
        known |= {way: tuple((int(n), float(s)) for n, s in known.get(way, ())) for way in map(str, Way)}
        known["last"] = None if known.get("last") is None else Way(known["last"])
        return cls(**known)


def choose(learnt: Learnt, standing: Standing) -> Choice:
    """The way that is expected to take least, with what has to be made for it."""
    against = _against_changes(learnt, standing)
    whole = _expected(learnt.full or learnt.anew, standing.rows)
    if against is not None or whole is None:
        why = against or "nothing is known yet of what its updates take"
        return Choice(way=Way.FULL, why=f"computed in full: {why}")
    part = _expected_of_changes(learnt, standing, whole)
    guessed = "" if learnt.changes else " at a guess"
    compared = f"{standing.rows:,} rows take {format_duration(whole)}, from changes {format_duration(part)}{guessed}"
    if standing.follows:
        return _following(learnt, whole, part, compared)
    may_pay = part < _CLEARLY_LESS * whole and len(learnt.full) >= _ENOUGH
    is_due = learnt.in_a_row >= _RETRIED_AFTER and part < _BEYOND_DOUBT * whole and bool(learnt.changes)
    if may_pay or is_due:
        return Choice(way=Way.ANEW, why=f"from changes as of now: {compared}")
    return Choice(way=Way.FULL, why=f"computed in full: {compared}")


def _against_changes(learnt: Learnt, standing: Standing) -> str | None:
    """Why changes are not followed, whatever that takes."""
    if learnt.against is not None:
        return f"{learnt.against} has no rule"
    if not standing.is_there:
        return "nothing of what its query gives was there yet"
    if standing.changed is not None and standing.changed > _MOST * standing.rows:
        return f"{standing.changed:,} of {standing.rows:,} rows of its sources have changed"
    if learnt.rest and not standing.follows:
        return f"changes did not tell what had changed, and are tried again after {learnt.rest} updates"
    return None


def _following(learnt: Learnt, whole: float, part: float, compared: str) -> Choice:
    """Where changes can be followed right away."""
    # What was made for it is used, so that it is known what it is good for.
    is_new = learnt.last is Way.ANEW
    is_due = learnt.in_a_row >= _RETRIED_AFTER and whole < _BEYOND_DOUBT * part
    if is_new or (part <= whole and not is_due):
        return Choice(way=Way.CHANGES, why=f"from changes: {compared}")
    return Choice(way=Way.FULL, why=f"computed in full: {compared}")


def _expected_of_changes(learnt: Learnt, standing: Standing, whole: float) -> float:
    changed = standing.changed
    if changed is None:
        changed = int(median(n for n, _ in learnt.changes)) if learnt.changes else 0
    known = _expected(learnt.changes, changed)
    share = changed / standing.rows if standing.rows else 0.0
    return _GUESSED_SECONDS + _GUESSED_SHARE * share * whole if known is None else known


def _expected(updates: Taken, rows: int) -> float | None:
    """What so many rows take, by a line through these updates that some odd ones do not move (Theil 1950, Sen 1968)."""
    if not updates:
        return None
    middle = median(seconds for _, seconds in updates)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(updates, 2) if a[0] != b[0]]
    size = median(n for n, _ in updates)
    # No more than in proportion, and more rows do not take less.
    steepest = middle / size if size else 0.0
    slope = min(max(0.0, median(slopes)), steepest) if slopes else 0.0
    return max(0.0, median(seconds - slope * n for n, seconds in updates) + slope * rows)


def _with(taken: Taken, rows: int, seconds: float) -> Taken:
    return (*taken, (rows, seconds))[-_KEPT:]
