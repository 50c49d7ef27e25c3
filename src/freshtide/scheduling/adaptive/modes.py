"""Between normal and recovery mode (Leontyev et al. 2010, section III, rules RN and NR)."""

from __future__ import annotations

from collections.abc import Iterable

from freshtide.guarantees import ROUNDING
from freshtide.scheduling.adaptive.reservation import Mode, Reservation


def rule_rn(reservation: Reservation) -> None:
    """An update in recovery mode has ended and nothing is left to load: back to normal mode at max(f_j, d_j).

    The next update is released as equation (4) says, when there is something to load again.
    """
    if reservation.mode is Mode.RECOVERY and reservation.unfresh_since is None:
        reservation.normal_from = max(reservation.finished_at, reservation.deadline)
        reservation.agreed_release = None


def rule_nr(reservation: Reservation, now: float) -> bool:
    """Whether a table may enter recovery mode: it is in normal mode and further behind than its threshold."""
    return (
        reservation.mode is Mode.NORMAL
        and reservation.is_able
        and reservation.gap(now) > reservation.threshold * (1.0 + ROUNDING)
    )


def admitted(eligible: Iterable[Reservation], *, demand: float, tracks: int, arbitration: str) -> list[Reservation]:
    """Those of the eligible tables that enter recovery mode together: as many as condition (6) lets in, in turn.

    `demand` is the sum of all shares in their present modes.
    """
    let_in = []
    for reservation in sorted(eligible, key=_by_priority if arbitration == "priority" else _by_share):
        if demand + reservation.extra_share <= tracks * (1.0 + ROUNDING):
            demand += reservation.extra_share
            let_in.append(reservation)
    return let_in


def _by_share(reservation: Reservation) -> tuple[float, int]:
    return reservation.extra_share, reservation.table.place


def _by_priority(reservation: Reservation) -> tuple[float, float, int]:
    return -reservation.table.candidate.priority, reservation.extra_share, reservation.table.place
