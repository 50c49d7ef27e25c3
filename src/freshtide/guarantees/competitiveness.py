"""How far from the best schedule any eager scheduler can be at most (Bateni et al. 2009, section 3).

A scheduler is eager if it leaves no track idle while an update is pending that could start, and loads all that is
pending at once: any ordering with the allocation `global` and without chopping is. With t base tables on p tracks, and
`alpha` such that no table takes longer than alpha * L to load L seconds of data, the penalty of an eager scheduler is
at most a constant times LOW. Twice the total staleness lies between the two, so that total staleness is at most that
constant times LOW/2, which not even a schedule that knows the future can go below.

The proof of theorem 3.1 takes all tracks to be busy while a batch waits. But a batch may also wait for an update of its
own table that is still running, while other tracks are idle. So the theorem is taken as stated, and tested: no run has
exceeded its constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from freshtide.guarantees.reservations import Breach

LARGEST_SHARE = (math.sqrt(3.0) - 1.0) / 2.0
"""Of alpha in p / t: below it there is a constant (corollary 3.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EagerLoad:
    """What the theorem goes by: how fast updates are, and how many tables share how many tracks."""

    alpha: float
    """Seconds to load a second of data, of the slowest table."""
    tracks: int
    """p."""
    tables: int
    """t."""

    @property
    def share(self) -> float:
        """C: alpha in p / t, how busy the tracks are at most. Tracks beyond the number of tables are never used."""
        return self.alpha * self.tables / min(self.tracks, self.tables)

    @property
    def squeeze(self) -> float:
        """sqrt(3) C / (1 - C), which the theorem wants to be at most sqrt(delta) (1 - beta)."""
        return math.sqrt(3.0) * self.share / (1.0 - self.share) if self.share < 1.0 else math.inf


def proportion(*, fixed: float, per_second: float, shortest: float) -> float:
    """alpha of a table whose update takes `fixed + per_second * L`, if no update is shorter than `shortest`."""
    # Rounded up: a bound must not fall short of what it bounds, however small that is.
    return per_second + (math.nextafter(fixed / shortest, math.inf) if fixed else 0.0)


def penalty_factor(*, alpha: float, beta: float, delta: float) -> float:
    """What the penalty of an eager scheduler is at most, through LOW (theorem 3.1)."""
    return (1.0 + alpha) ** 2 / (beta**4 * (1.0 - delta))


def penalty_breaches(load: EagerLoad, *, beta: float, delta: float) -> list[Breach]:
    """What theorem 3.1 asks for a choice of beta and delta, and does not find."""
    if not (0.0 < beta < 1.0 and 0.0 < delta < 1.0):
        return [
            Breach(
                table=None,
                reason=f"beta is {beta:.3g} and delta {delta:.3g}, and both must lie between 0 and 1",
                way_out="Choose them there, or let `best_choice` do it.",
            )
        ]
    constant = math.sqrt(delta) * (1.0 - beta) / math.sqrt(3.0)
    # alpha / (1 - alpha t / p) <= C p / t, solved for alpha t / p.
    return _too_slow(load, constant / (1.0 + constant), "at most")


def eager_breaches(load: EagerLoad) -> list[Breach]:
    """What corollary 3.2 asks for there to be a constant, and does not find."""
    return _too_slow(load, math.nextafter(LARGEST_SHARE, 0.0), "less than")


def best_choice(load: EagerLoad) -> tuple[float, float]:
    """The beta and delta that give the smallest factor, for a load without breaches.

    Let s be the squeeze, u = 1 - beta. The factor falls as delta does, so sqrt(delta) u = s, and what is to be largest
    is (1 - u)^4 (1 - s^2 / u^2). Its derivative vanishes where 2 u^3 - s^2 u - s^2 = 0. This is negative at u = s and
    positive at u = 1, and changes its sign once for positive u; with s < 1 Cardano's formula gives this root.
    """
    squared = load.squeeze**2
    if not squared:
        return 1.0, 0.0
    root = math.sqrt(squared**2 / 16.0 - squared**3 / 216.0)
    rest = math.cbrt(squared / 4.0 + root) + math.cbrt(squared / 4.0 - root)
    return 1.0 - rest, squared / rest**2


def eager_factor(load: EagerLoad) -> float:
    """The smallest factor that theorem 3.1 gives, for a load without breaches; it approaches 1 as alpha does 0."""
    beta, delta = best_choice(load)
    return penalty_factor(alpha=load.alpha, beta=beta, delta=delta)


def _too_slow(load: EagerLoad, largest: float, how: str) -> list[Breach]:
    if load.share <= largest:
        return []
    used = min(load.tracks, load.tables)
    # Rounded up with a little to spare: a number of tracks that is just enough may fail by its last digit.
    needed = math.ceil(load.alpha * load.tables / largest * (1.0 + 1e-12))
    enough = needed if needed <= load.tables else None
    tracks = f" {enough} tracks would do, or" if enough is not None else ""
    return [
        Breach(
            table=None,
            reason=(
                f"with {load.tables} tables on {load.tracks} tracks alpha must be {how} {largest:.3g} p/t = "
                f"{largest * used / load.tables:.3g}, and is {load.alpha:.3g}"
            ),
            way_out=f"Updates must be faster, or tables fewer.{tracks} an alpha of {largest * used / load.tables:.3g}.",
            tracks_needed=enough,
        )
    ]
