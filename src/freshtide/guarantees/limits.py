"""What no scheduler can do better: how stale a table gets although nothing ever waits, and loads beyond all tracks.

These are bounds from below. They follow from Definition 1 of Leontyev et al. 2010 (a file arrives, stamped before it
arrives) and from E(n) = alpha + beta * n (Golab et al. 2011, section 2.4), whoever schedules.
"""

from __future__ import annotations

import graphlib
from collections.abc import Sequence
from dataclasses import dataclass

from freshtide.guarantees.reservations import Reserved


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavoidable:
    """How stale a table gets if each update starts the moment it can, and what that is made of."""

    base: str
    """The base table below it, or itself, that decides."""
    interval: float
    """Between two movements of its freshness: the period of the feed, or the widest bucket on the way."""
    held_back: float
    """What the sources on the way keep from their dependents."""
    work: float
    """The updates from the base table up to the table, one after the other."""

    @property
    def staleness(self) -> float:
        """Just before an update ends, the file before its last one came an interval and the work ago."""
        return self.interval + self.held_back + self.work


def unavoidable_staleness(tables: Sequence[Reserved]) -> dict[str, Unavoidable]:
    """The largest staleness that each table reaches again and again even on idle tracks.

    A file comes every `period`, and its update takes `execution`; a view adds its own to that of the source that is
    behind most. Jitters bound from above how early and how old files come, so that nothing follows from them: all may
    be in time and young.
    """
    by_name = {table.table: table for table in tables}
    found: dict[str, Unavoidable] = {}
    for name in graphlib.TopologicalSorter({table.table: table.sources for table in tables}).static_order():
        table = by_name[name]
        if not table.sources:
            found[name] = Unavoidable(
                base=name,
                interval=table.period,
                held_back=0.0,
                work=table.execution,
            )
            continue
        through = [_through(found[source], by_name[source], table) for source in table.sources]
        found[name] = max(through, key=lambda way: way.staleness)
    return found


def _through(below: Unavoidable, source: Reserved, table: Reserved) -> Unavoidable:
    return Unavoidable(
        base=below.base,
        interval=max(below.interval, table.coarseness),
        held_back=below.held_back + source.held_back,
        work=below.work + table.execution,
    )
