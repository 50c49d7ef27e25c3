"""The reservation of a table: its mode, its last released update, and when the next one is released."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from freshtide.scheduling.conditions import NOT_RUNNING
from freshtide.scheduling.known import KnownTable


class Mode(StrEnum):
    NORMAL = "normal"
    RECOVERY = "recovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationView:
    """A look at a reservation from outside."""

    mode: Mode
    period: float
    """That of the mode."""
    released_at: float
    deadline: float
    next_release: float | None
    """When the next update is released, if that is known."""
    reweighted_by: str | None
    """The rule that laid down the release of an update when the table last entered recovery mode."""
    execution: float
    """What is reserved for an update."""
    runs_early: bool
    """Whether its update runs on a track that was idle, before its release."""


@dataclass(slots=True, kw_only=True)
class Reservation:
    """In the paper's words: task T_k, with j the index of its last released job."""

    table: KnownTable
    nominal_period: float = 1.0
    recovery_period: float = 1.0
    execution: float = 0.0
    threshold: float = 0.0
    mode: Mode = Mode.NORMAL
    ever_released: bool = False
    is_open: bool = False
    """Whether the last released update has not ended yet."""
    released_at: float = 0.0
    """r_j."""
    deadline: float = 0.0
    """d_j."""
    finished_at: float = 0.0
    """f_j."""
    has_just_ended: bool = False
    agreed_release: float | None = None
    """r_{j+1} where a rule has laid it down; otherwise it follows from equation (4)."""
    runs_early: bool = False
    """Whether the running update was started before its release, and stands beside those that are released."""
    is_settled_at_end: bool = False
    """Whether the table entered recovery mode during its update, whose end decides between rules (vi) and (vii)."""
    normal_from: float | None = None
    """When the table goes back to normal mode, once that is certain."""
    reweighted_by: str | None = None
    alarmed_for: float | None = None
    """The moment at which the table is looked at again without anything happening to it."""

    @property
    def period(self) -> float:
        """p(T_k, t)."""
        return self.nominal_period if self.mode is Mode.NORMAL else self.recovery_period

    @property
    def share(self) -> float:
        """Of a track, in the present mode."""
        return self.execution / self.period

    @property
    def extra_share(self) -> float:
        """What recovery mode takes beyond normal mode."""
        return self.execution / self.recovery_period - self.execution / self.nominal_period

    @property
    def is_running(self) -> bool:
        return self.table.condition.track != NOT_RUNNING

    @property
    def is_able(self) -> bool:
        """Whether the table takes part and is not to be tried again later."""
        return self.table.condition.able

    @property
    def unfresh_since(self) -> float | None:
        """Since when there has been something to load that no update has taken; None if there is nothing."""
        return self.table.pending.waits_since

    @property
    def may_start_early(self) -> bool:
        """Whether there is a file or a period of data to load that waits for nothing but its release."""
        table = self.table
        if self.is_open or self.is_running or not self.is_able or table.condition.first_load:
            return False
        pending = table.pending
        return bool(pending.stamps) and not pending.is_wanted_anew and not table.spec.update_stream

    def gap(self, now: float) -> float:
        """TE - F: how far the table is behind what has arrived for it; an update stream, how long that has waited."""
        table, pending = self.table, self.table.pending
        if table.spec.update_stream:
            return 0.0 if pending.waits_since is None else now - pending.waits_since
        if not pending.stamps:
            return 0.0
        newest = max(pending.stamps[-1], pending.stamps[pending.taken - 1])
        # Nothing is loaded yet: the first data stands for one period, like any other.
        freshness = table.condition.freshness
        return newest - (pending.stamps[0] - self.nominal_period if freshness is None else freshness)

    def enter(self, mode: Mode) -> None:
        self.mode, self.normal_from, self.is_settled_at_end = mode, None, False


def release(reservation: Reservation, moment: float) -> None:
    """The next update may start from this moment on, and is due a period later (equation (3))."""
    reservation.released_at = moment
    reservation.deadline = moment + reservation.period
    reservation.is_open = reservation.ever_released = True
    reservation.agreed_release = None


def next_release(reservation: Reservation) -> tuple[float, float] | None:
    """When the next update is released, and from when on that is certain; None while there is nothing to load.

    The last one must have ended. Without a rule that laid it down equation (4) holds: at the last deadline, if the
    table was not fresh then or when its update ended, whichever came later; otherwise as soon as it is not.
    """
    since = reservation.unfresh_since
    if since is None:
        return None
    if reservation.agreed_release is not None:
        return reservation.agreed_release, reservation.agreed_release
    settled = max(reservation.deadline, reservation.finished_at)
    return (reservation.deadline, settled) if since <= settled else (since, since)


def scheduled_deadline(reservation: Reservation) -> float:
    """When the next update is due, which an early one goes by."""
    coming = next_release(reservation)
    assert coming is not None, f"'{reservation.table.name}' has nothing to load"
    return coming[0] + reservation.period
