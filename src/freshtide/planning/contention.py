"""How much updates slow each other down, learnt from the updates that ran."""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from freshtide.catalog import Catalog

_UPDATES_LOOKED_AT = 2_000
_PER_TABLE = 20
_FEWEST = 3
# Speaks for no contention as loudly as half an update that ran beside one more than usual.
_DOUBT = 0.5
_MOST_VARIABLE = 0.9

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """An update takes (1 + growth * (k - 1)) times as long while k run at once, itself included."""

    growth: float = 0.0
    usual: float = 1.0
    """How many ran at once while the costs were learnt that the scheduler knows."""
    variability: float = 0.0
    """b: apart from that, updates take between 1 - b and 1 + b times as long as expected."""

    def factor(self, running: float) -> float:
        """How much longer than learnt an update takes while so many run."""
        return (1.0 + self.growth * (running - 1.0)) / (1.0 + self.growth * (self.usual - 1.0))


def learnt_contention(catalog: Catalog) -> Contention:
    """From the last updates of every table."""
    updates = [u for u in catalog.updates.latest_done(_UPDATES_LOOKED_AT) if u.finished_at is not None]
    spans = [(u.started_at, u.finished_at or u.started_at) for u in updates]
    running = at_once(spans)
    by_table: dict[str, list[tuple[float, float]]] = {}
    for update, (start, end), count in zip(updates, spans, running, strict=True):
        # A table's first update computes everything and is not learnt from.
        if update.from_freshness is not None and end > start:
            by_table.setdefault(update.table, []).append((count, end - start))
    usual = mean_at_once(spans)
    compared: list[tuple[float, float]] = []
    middle: list[float] = []
    for seen in by_table.values():
        recent = seen[-_PER_TABLE:]
        if len(recent) >= _FEWEST:
            count = statistics.fmean(count for count, _ in recent)
            seconds = statistics.fmean(seconds for _, seconds in recent)
            compared += [(k - count, took / seconds - 1.0) for k, took in recent]
            middle += [count] * len(recent)
    if not compared:
        return Contention(usual=usual)
    slope = sum(k * longer for k, longer in compared) / (sum(k * k for k, _ in compared) + _DOUBT)
    # It is relative to what an update takes beside as many as its table has on average. Beyond 1 it would be better to
    # run nothing at once.
    growth = min(1.0, max(0.0, slope / max(1e-9, 1.0 - slope * (statistics.fmean(middle) - 1.0))))
    rest = math.sqrt(statistics.fmean((longer - slope * k) ** 2 for k, longer in compared))
    # A uniform distribution with this deviation reaches sqrt(3) times as far.
    return Contention(growth=growth, usual=usual, variability=min(_MOST_VARIABLE, math.sqrt(3.0) * rest))


def at_once(spans: Sequence[Span]) -> list[float]:
    """For each span, how many of them there are at once in the course of it, itself included."""
    moments = sorted({moment for span in spans for moment in span})
    change = dict.fromkeys(moments, 0)
    for start, end in spans:
        change[start] += 1
        change[end] -= 1
    area, count, areas = 0.0, 0, []
    for at, moment in enumerate(moments):
        area += count * (moment - moments[at - 1]) if at else 0.0
        count += change[moment]
        areas.append(area)

    def up_to(moment: float) -> float:
        return areas[bisect.bisect_left(moments, moment)]

    return [(up_to(end) - up_to(start)) / (end - start) if end > start else 1.0 for start, end in spans]


def mean_at_once(spans: Sequence[Span]) -> float:
    """How many run at once in the course of an update, on average over the updates: as their costs are averages."""
    return statistics.fmean(at_once(spans)) if spans else 1.0
