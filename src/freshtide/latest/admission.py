"""Which tuples an update stream takes in: those with a key and a time (Moga et al. 2009, section 3.1).

Whether a tuple is older than another one of its key is no question of admission. In what order they come depends on
what is read again after a crash, and nobody could remember the newest of all keys: wherever the two meet, in a queue
or in a table, the older one is superseded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeGuard

from freshtide.latest.pages import ColumnKind
from freshtide.latest.shapes import MISFIT, value_check

_KINDS = {"int": "a whole number", "float": "a number"}


class RejectKind(StrEnum):
    """What can be wrong with a tuple."""

    NO_KEY = "no key"
    NO_TIME = "no time"
    NOT_A_NUMBER = "not a number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why a tuple is kept aside, in words."""

    kind: RejectKind
    reason: str


class Admission:
    """Looks at each tuple before it is enqueued, and counts those that it turns away."""

    def __init__(self, values: Sequence[ColumnKind] = ()) -> None:
        self.rejected: Counter[RejectKind] = Counter()
        self._kinds = tuple(values)
        self._numbers = {position: value_check([kind]) for position, kind in enumerate(values) if kind != "object"}

    def admit(self, time: object, key: object, values: Sequence[object] = ()) -> Rejection | None:
        """None if the tuple may be enqueued."""
        rejection = self._objection(time, key, values)
        if rejection is not None:
            self.rejected[rejection.kind] += 1
        return rejection

    def _objection(self, time: object, key: object, values: Sequence[object]) -> Rejection | None:
        if _is_missing(key) or (isinstance(key, tuple) and any(map(_is_missing, key))):
            return Rejection(kind=RejectKind.NO_KEY, reason="It has no update key.")
        if not _is_hashable(key):
            return Rejection(kind=RejectKind.NO_KEY, reason=f"Its update key {key!r} is not a plain value.")
        if time is None:
            return Rejection(kind=RejectKind.NO_TIME, reason="It has no time.")
        if not _is_moment(time):
            return Rejection(kind=RejectKind.NOT_A_NUMBER, reason=f"Its time {time!r} is not a number.")
        return self._misfit(values)

    def _misfit(self, values: Sequence[object]) -> Rejection | None:
        for position, check in self._numbers.items():
            try:
                check(values[position])
            except MISFIT:
                reason = f"Value {position + 1} is {values[position]!r} and not {_KINDS[self._kinds[position]]}."
                return Rejection(kind=RejectKind.NOT_A_NUMBER, reason=reason)
        return None


def _is_moment(time: object) -> TypeGuard[float]:
    if not isinstance(time, int | float) or isinstance(time, bool):
        return False
    try:
        return math.isfinite(time)
    except OverflowError:
        return False


def _is_hashable(key: object) -> TypeGuard[Hashable]:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _is_missing(key: object) -> bool:
    # NaN is not equal to itself: as a key it would never be superseded.
    return key is None or (isinstance(key, float) and math.isnan(key))
