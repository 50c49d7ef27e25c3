"""What of an update costs the same however much it loads: by what each table tells, and by what all of them do."""

from __future__ import annotations

from typing import Final

from freshtide.scheduling.estimates import Estimate

# What was learnt of a table is taken for chance up to so many standard errors.
_ERRORS: Final = 2.0


class KnownFixedCosts:
    """Fixed costs as shares of what a period takes.

    A line through noisy updates of nearly one size tells next to nothing about one table, and equal tables seem to
    differ. Who seems to have the higher fixed costs would have the longer pieces, and stay fresher than its equals. So
    of what a table is apart from the others, as much is believed as their spread exceeds what chance makes of it, and
    nobody is moved further than by two of its standard errors, as for costs altogether (`KnownCosts.leaning`).
    """

    def __init__(self, tables: int) -> None:
        self._told: list[tuple[float, float] | None] = [None] * tables
        """By place: the share, and its standard error."""
        self._telling = 0
        self._shares = 0.0
        self._squares = 0.0
        self._doubts = 0.0
        """The squares of the standard errors."""

    def note(self, place: int, estimate: Estimate | None) -> None:
        """What was learnt of a table may have changed; None: it does not count."""
        self._count(self._told[place], -1)
        told = self._told[place] = None if estimate is None else _shares(estimate)
        self._count(told, 1)

    def of(self, estimate: Estimate) -> float:
        """What is believed to be fixed, in seconds."""
        told = _shares(estimate)
        if told is None:
            return 0.0
        share, error = told
        if error > 0.0 and self._telling > 1:
            typical = self._shares / self._telling
            spread = max(0.0, (self._squares - self._doubts) / self._telling - typical * typical)
            apart = (typical - share) * error * error / (spread + error * error)
            share += max(-_ERRORS * error, min(_ERRORS * error, apart))
        return max(0.0, share) * estimate.per_period

    def _count(self, told: tuple[float, float] | None, sign: int) -> None:
        if told is not None:
            share, error = told
            self._telling += sign
            self._shares += sign * share
            self._squares += sign * share * share
            self._doubts += sign * error * error


def _shares(estimate: Estimate) -> tuple[float, float] | None:
    told, cost = estimate.steps.told_fixed, estimate.per_period
    return None if told is None else (told[0] / cost, told[1] / cost)
