"""Bounds for tables whose updates have reserved shares of the tracks (Leontyev et al. 2010, sections III to VI).

They hold for global EDF without preemption, as the adaptive scheduler runs it, if any k updates of a table in a row
take no longer than k times its `execution` and its `burst`, no table asks for more than a track and all of them
together for no more than there are.

The paper knows no burst: e is to be the longest execution there is. But where updates cost by the data they load, a
file of a healthy feed (Definition 2) may hold much more than a period, and then the next ones hold the less. To reserve
the longest each time would be many times what is used, and where it is longer than a period nothing could be promised.
How Theorem 1 is proved with bursts is shown in docs/guides/planning.md. Without any it is the theorem as printed.
"""

from __future__ import annotations

import graphlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from freshtide.core.durations import format_duration

# Shares of tracks are sums of fractions: what is meant to fit exactly must fit.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A table with the share of the tracks that its updates have reserved."""

    table: str
    period: float
    """p: in normal mode an update is released at most once in so many seconds."""
    execution: float
    """e: no update takes longer, but for a burst."""
    recovery_period: float
    """p_r: the period in recovery mode."""
    sources: tuple[str, ...] = ()
    phase: float = 0.0
    """phi: when the first file is due at the latest, counted from the moment at which the table is fresh."""
    arrival_jitter: float = 0.0
    """J: a file comes up to so many seconds before the last moment at which it is due."""
    timestamp_jitter: float = 0.0
    """kappa: a file is stamped up to so many seconds before it arrives."""
    held_back: float = 0.0
    """How far what dependents may use stays behind the table's freshness: the declared lateness of a feed."""
    coarseness: float = 0.0
    """How far a view's freshness stays behind what its sources allow: it moves from one closed bucket to the next."""
    burst: float = 0.0
    """B: any k updates in a row take at most k times e, and this."""

    @property
    def utilisation(self) -> float:
        return self.execution / self.period

    @property
    def largest_share(self) -> float:
        """W: the share of a track in recovery mode."""
        return self.execution / self.recovery_period


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """An assumption of the bounds that does not hold, with the numbers that break it."""

    table: str | None
    """The table that breaks it; None if it takes all of them."""
    reason: str
    way_out: str
    tracks_needed: int | None = None
    """The number of tracks with which it would hold; None if no number would do."""


def whole_buckets(period: float, bucket: float) -> float:
    """The period to reserve by of a view that moves from one closed bucket to the next.

    An update loads one period at most (Definition 8). With a period that is no multiple of the bucket it would close
    less than arrives, or take longer for a whole bucket than is reserved for a period.
    """
    return period if bucket <= 0.0 else bucket * max(1, math.ceil(period / bucket * (1.0 - ROUNDING)))


def total_utilisation(tables: Sequence[Reserved]) -> float:
    """U_sum: how many tracks the tables keep busy in normal mode."""
    return sum(table.utilisation for table in tables)


def tracks_needed(tables: Sequence[Reserved]) -> int:
    """The fewest tracks that hold the tables."""
    return max(1, math.ceil(total_utilisation(tables) - ROUNDING))


def breaches(tables: Sequence[Reserved], tracks: int) -> list[Breach]:
    """What of Definitions 9 and 10 does not hold: u <= 1, e <= p_r <= p, U_sum <= m."""
    found = [breach for table in tables for breach in _own_breaches(table)]
    total = total_utilisation(tables)
    if total > tracks * (1.0 + ROUNDING):
        largest = max(tables, key=lambda table: table.utilisation)
        needed = tracks_needed(tables)
        found.append(
            Breach(
                table=None,
                reason=(
                    f"the tables keep {total:.3g} tracks busy and there {'is' if tracks == 1 else 'are'} {tracks}; "
                    f"'{largest.table}' asks most, {largest.utilisation:.3g} of a track "
                    f"({format_duration(largest.execution)} every {format_duration(largest.period)})"
                ),
                way_out=f"{needed} tracks would do; or give the tables longer periods or cheaper queries.",
                tracks_needed=needed,
            )
        )
    return found


def _own_breaches(table: Reserved) -> list[Breach]:
    name, period, execution, recovery = table.table, table.period, table.execution, table.recovery_period
    every, takes, recovers = format_duration(period), format_duration(execution), format_duration(recovery)
    if execution > period * (1.0 + ROUNDING):
        return [
            Breach(
                table=name,
                reason=(
                    f"an update of '{name}' takes {takes} and is due every {every}: "
                    f"{table.utilisation:.3g} tracks, and a table can use one at most"
                ),
                way_out=f"A period of at least {takes} would do, or a cheaper query.",
            )
        ]
    if recovery < execution * (1.0 - ROUNDING):
        reason = f"the recovery period of '{name}', {recovers}, is shorter than its updates, {takes}"
    elif recovery > period * (1.0 + ROUNDING):
        reason = f"the recovery period of '{name}', {recovers}, is longer than its period, {every}"
    else:
        return []
    return [Breach(table=name, reason=reason, way_out=f"Choose one between {takes} and {every}.")]


def tardiness_bounds(tables: Sequence[Reserved], tracks: int) -> dict[str, float]:
    """Y: how long after its deadline an update ends at the latest (Theorem 1, with bursts)."""
    costs = sorted((table.execution for table in tables), reverse=True)
    shares = sorted((table.largest_share for table in tables), reverse=True)
    # With a track for each table nobody waits for another one's.
    bursts = sum(table.burst for table in tables) if len(tables) > tracks else 0.0
    # An empty set of tables has no bounds to ask for.
    delay = (sum(costs[:tracks]) - costs[-1] + bursts) / (tracks - sum(shares[: tracks - 1])) if costs else 0.0
    return {table.table: table.execution + table.burst + delay for table in tables}


def response_bounds(tables: Sequence[Reserved], tracks: int) -> dict[str, float]:
    """Theta = p + Y: how long after its release an update ends at the latest (Lemma 1)."""
    tardiness = tardiness_bounds(tables, tracks)
    return {table.table: table.period + tardiness[table.table] for table in tables}


def staleness_bounds(tables: Sequence[Reserved], tracks: int) -> dict[str, float]:
    """A: how stale a table can become as long as the feeds below it are healthy (Definition 13, Theorems 2 and 3)."""
    by_name = {table.table: table for table in tables}
    response = response_bounds(tables, tracks)
    found: dict[str, float] = {}
    for name in graphlib.TopologicalSorter({table.table: table.sources for table in tables}).static_order():
        table = by_name[name]
        if table.sources:
            behind = table.coarseness + max(found[source] + by_name[source].held_back for source in table.sources)
        else:
            behind = max(table.phase, table.period + table.arrival_jitter + table.timestamp_jitter)
        found[name] = response[name] + table.period + behind
    return found


def recovery_time(table: Reserved, response: float, outage: float) -> float:
    """x: how long after it enters recovery mode a base table has loaded all that an outage held up (Theorem 4).

    Without a recovery period shorter than its period a table never catches up.
    """
    period, recovery = table.period, table.recovery_period
    if recovery >= period:
        return math.inf
    return (response * period + (outage + table.arrival_jitter + period) * recovery) / (period - recovery)


def recovery_times(tables: Sequence[Reserved], tracks: int, outage: float) -> Mapping[str, float]:
    """The recovery time of every base table after an outage of this length."""
    response = response_bounds(tables, tracks)
    return {table.table: recovery_time(table, response[table.table], outage) for table in tables if not table.sources}


def fit_together(tables: Sequence[Reserved], tracks: int, *, recovering: Collection[str]) -> bool:
    """Whether these tables can be in recovery mode at the same time (condition (6))."""
    shares = (table.largest_share if table.table in recovering else table.utilisation for table in tables)
    return sum(shares) <= tracks * (1.0 + ROUNDING)


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
