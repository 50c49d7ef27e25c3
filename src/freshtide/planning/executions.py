"""How long the updates of a table take, and how much that varies, from many of those that ran.

What the scheduler has learnt follows the last few updates, so that it notices a machine that slows down: it is as noisy
as they are. What is simulated as the truth is taken from more of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from freshtide.catalog import Catalog, UpdateRow

_UPDATES_LOOKED_AT = 5_000
_PER_TABLE = 60
_FEWEST = 5
# Older updates count less, as Spark gets faster in the course of a run and tables grow.
_MEMORY = 0.97
# A slope counts if chance alone would give one as steep in one of some twenty tables.
_SIGNIFICANT = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An update that adds n seconds of data takes alpha + beta * n, times one of the factors."""

    alpha: float
    beta: float
    factors: tuple[float, ...]
    """As they were seen, about 1 on average."""


def executions(catalog: Catalog, *, since: float | None = None) -> dict[str, Execution]:
    """By table, where any of its updates are known; from a moment on, if it is said."""
    by_table: dict[str, list[UpdateRow]] = {}
    latest = catalog.updates.latest_done(_UPDATES_LOOKED_AT) if since is None else catalog.updates.done_since(since)
    for update in latest:
        by_table.setdefault(update.table, []).append(update)
    seen = {table: _seen(updates) for table, updates in by_table.items()}
    found = {table: _execution(pairs) for table, pairs in seen.items() if pairs}
    # How far a few updates lie apart says little: all tables together stand for those that have no more.
    everyone = tuple(
        factor for table, known in found.items() if len(seen[table]) >= _FEWEST for factor in known.factors
    )
    return {
        table: known if len(seen[table]) >= _FEWEST else replace(known, factors=everyone or (1.0,))
        for table, known in found.items()
    }


def _seen(updates: Sequence[UpdateRow]) -> list[tuple[float, float]]:
    """Seconds of data and of work of the last updates, oldest first, but for those that computed a table anew.

    One that left no rows and got no further was a part of that, or found nothing to do.
    """
    return [
        (update.freshness - update.from_freshness, update.seconds)
        for update in updates
        if update.seconds and update.freshness is not None and update.from_freshness is not None
        if update.kind != "rebuild" and update.freshness >= update.from_freshness
        if update.rows != 0 or update.freshness > update.from_freshness
    ][-_PER_TABLE:]


def _execution(seen: Sequence[tuple[float, float]]) -> Execution:
    weights = [_MEMORY**age for age in range(len(seen) - 1, -1, -1)]
    alpha, beta = line_through(seen, weights)
    expected = [alpha + beta * gained for gained, _ in seen]
    factors = [took / usual for (_, took), usual in zip(seen, expected, strict=True)]
    # Weighed by what each update took, as its mean is to be kept.
    mean = sum(took for _, took in seen) / sum(expected)
    scale = statistics.fmean(factors)
    return Execution(alpha=mean * alpha, beta=mean * beta, factors=tuple(factor / scale for factor in factors))


def line_through(seen: Sequence[tuple[float, float]], weights: Sequence[float]) -> tuple[float, float]:
    """The line of least squares; flat where its slope may well be chance."""
    total = sum(weights)
    mean_n = sum(w * n for w, (n, _) in zip(weights, seen, strict=True)) / total
    mean_e = sum(w * e for w, (_, e) in zip(weights, seen, strict=True)) / total
    variance = sum(w * (n - mean_n) ** 2 for w, (n, _) in zip(weights, seen, strict=True)) / total
    if len(seen) < _FEWEST or variance <= (0.01 * mean_n) ** 2:
        return mean_e, 0.0
    slope = sum(w * (n - mean_n) * (e - mean_e) for w, (n, e) in zip(weights, seen, strict=True)) / total / variance
    rest = sum(w * (e - mean_e - slope * (n - mean_n)) ** 2 for w, (n, e) in zip(weights, seen, strict=True)) / total
    # So many equally weighted updates would say as much.
    count = total**2 / sum(w * w for w in weights)
    error = math.sqrt(rest / variance / max(1.0, count - 2.0))
    if slope <= _SIGNIFICANT * error:
        return mean_e, 0.0
    alpha = mean_e - slope * mean_n
    return (alpha, slope) if alpha >= 0.0 else (0.0, mean_e / mean_n)
