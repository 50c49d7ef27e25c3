"""When the next update is released if a table enters recovery mode: the seven rules of Leontyev et al. 2010, III.

`t_c` is the moment of the change, `j` the last released update. Rules (i) to (iv) hold if no update of the table is
running at t_c, (v) to (vii) if one is; of those, (vi) and (vii) are settled when it ends. An update that was started
before its release does not count as one: update j is the last released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from freshtide.scheduling.adaptive.reservation import Reservation


class Rule(ABC):
    """A condition, and the release time that follows from it."""

    number: ClassVar[str]

    @abstractmethod
    def applies(self, reservation: Reservation, now: float) -> bool: ...

    @abstractmethod
    def lay_down(self, reservation: Reservation, now: float) -> None: ...


class NothingReleasedYet(Rule):
    """(i) No update was ever released: the first is released at t_c."""

    number = "i"

    def applies(self, reservation: Reservation, now: float) -> bool:  # noqa: ARG002 - at any moment
        return not reservation.ever_released

    def lay_down(self, reservation: Reservation, now: float) -> None:
        reservation.agreed_release = now


class DeadlinePassed(Rule):
    """(ii) d_j <= t_c: the next update is released at t_c."""

    number = "ii"

    def applies(self, reservation: Reservation, now: float) -> bool:
        return reservation.deadline <= now

    def lay_down(self, reservation: Reservation, now: float) -> None:
        reservation.agreed_release = now


class DeadlineNear(Rule):
    """(iii) d_j > t_c, no further away than a recovery period: the next update is released at d_j."""

    number = "iii"

    def applies(self, reservation: Reservation, now: float) -> bool:
        return now < reservation.deadline <= now + reservation.recovery_period

    def lay_down(self, reservation: Reservation, now: float) -> None:  # noqa: ARG002 - the deadline is what counts
        reservation.agreed_release = reservation.deadline


class DeadlineFar(Rule):
    """(iv) d_j > t_c, further away than a recovery period: update j counts as released at t_c and is due one later.

    If it has ended already, its deadline is what the next one waits for.
    """

    number = "iv"

    def applies(self, reservation: Reservation, now: float) -> bool:
        return reservation.deadline > now + reservation.recovery_period

    def lay_down(self, reservation: Reservation, now: float) -> None:
        reservation.released_at = now
        reservation.deadline = now + reservation.recovery_period


class RunningLate(Rule):
    """(v) Update j is running and d_j <= t_c: the next update is released at t_c."""

    number = "v"

    def applies(self, reservation: Reservation, now: float) -> bool:
        return reservation.deadline <= now

    def lay_down(self, reservation: Reservation, now: float) -> None:
        reservation.agreed_release = now


class EndedLate(Rule):
    """(vi) Update j was running, d_j > t_c, and it has ended at d_j or later: the next update is released at d_j."""

    number = "vi"

    def applies(self, reservation: Reservation, now: float) -> bool:
        return now >= reservation.deadline

    def lay_down(self, reservation: Reservation, now: float) -> None:  # noqa: ARG002 - the deadline is what counts
        reservation.agreed_release = reservation.deadline


class EndedInTime(Rule):
    """(vii) Update j was running, d_j > t_c, and it has ended before: f_j (1 - p_r/p) + r_j p_r/p + p_r.

    The sooner it ended after its release, the nearer to a whole recovery period after its end.
    """

    number = "vii"

    def applies(self, reservation: Reservation, now: float) -> bool:
        return now < reservation.deadline

    def lay_down(self, reservation: Reservation, now: float) -> None:
        ratio = reservation.recovery_period / reservation.nominal_period
        reservation.agreed_release = now * (1.0 - ratio) + reservation.released_at * ratio + reservation.recovery_period


_NOT_RUNNING = (NothingReleasedYet(), DeadlinePassed(), DeadlineNear(), DeadlineFar())
_RUNNING = RunningLate()
_AT_THE_END = (EndedLate(), EndedInTime())


def reweigh(reservation: Reservation, now: float) -> None:
    """The table enters recovery mode at this moment."""
    if not reservation.is_running or reservation.runs_early:
        _follow(next(rule for rule in _NOT_RUNNING if rule.applies(reservation, now)), reservation, now)
    elif _RUNNING.applies(reservation, now):
        _follow(_RUNNING, reservation, now)
    else:
        reservation.is_settled_at_end = True


def settle(reservation: Reservation, now: float) -> None:
    """The update that was running when the table entered recovery mode has ended at this moment."""
    reservation.is_settled_at_end = False
    _follow(next(rule for rule in _AT_THE_END if rule.applies(reservation, now)), reservation, now)


def _follow(rule: Rule, reservation: Reservation, now: float) -> None:
    rule.lay_down(reservation, now)
    reservation.reweighted_by = rule.number
