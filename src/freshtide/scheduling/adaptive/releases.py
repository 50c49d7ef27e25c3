"""When updates are released, and their deadlines (Leontyev et al. 2010, section II, equations (3) and (4))."""

from __future__ import annotations

from freshtide.scheduling.adaptive.reservation import Reservation


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
