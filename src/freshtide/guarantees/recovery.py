"""How short the period of a table may become while it catches up (Leontyev et al. 2010, section III)."""

from __future__ import annotations


def fastest_recovery(*, execution: float, period: float, total_utilisation: float, tracks: int) -> float:
    """The shortest recovery period with which the table could enter recovery mode alone (equation (7)).

    It takes all that the others leave, but never more than a whole track: `e / min(1, m - U_sum + u)`.
    Where the others leave nothing the period stays what it is.
    """
    left = min(1.0, tracks - total_utilisation + execution / period)
    return period if left <= 0.0 else min(period, execution / left)


def joint_recovery(*, execution: float, period: float, total_utilisation: float, tracks: int) -> float:
    """The shortest recovery period with which all tables could be in recovery mode together: `max(e, p U_sum / m)`."""
    return min(period, max(execution, period * total_utilisation / tracks))
