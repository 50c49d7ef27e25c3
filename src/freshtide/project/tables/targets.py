"""Target lags that what is declared about feeds does not allow: not at all, or not all of the time.

How fast a machine is plays no part here; `freshtide plan` tells what follows from that, and from what was learnt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from freshtide.core.durations import format_duration
from freshtide.core.errors import Problem
from freshtide.core.feeds import Feed
from freshtide.core.tables import Table

# A source that moves so many times more seldom than another is hardly joined for its time.
_MUCH_SLOWER = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pace:
    """How a table moves at best, if no update took any time."""

    interval: float = 0.0
    """Between two of its moves: the period of its feeds, or the widest bucket on the way that has to close."""
    held_back: float = 0.0
    """How far behind the newest row it stays, since rows may still come."""
    waits_for: str | None = None
    """The feed whose rows those are."""


def hopeless_targets(tables: Mapping[str, Table], feeds: Mapping[str, Feed]) -> Iterator[Problem]:
    """Targets that are broken at every moment. Tables are given with sources before their dependents."""
    for table, pace, target in _paced(tables, feeds):
        if pace.waits_for is not None and target <= pace.held_back:
            late, asked = format_duration(pace.held_back), format_duration(target)
            yield Problem(
                message=f"'{table.name}' can never be within its target lag of {asked}: rows of '{pace.waits_for}' may "
                f"come {late} late, and views wait for them.",
                origin=table.origin,
                way_out=f"Declare a target_lag of more than {format_duration(pace.interval + pace.held_back)}, or a "
                f"shorter lateness in '{pace.waits_for}'.",
            )


def short_targets(tables: Mapping[str, Table], feeds: Mapping[str, Feed]) -> Iterator[Problem]:
    """Targets that are broken part of the time, because data comes less often than it is to be fresh."""
    for table, pace, target in _paced(tables, feeds):
        if pace.held_back < target < pace.interval + pace.held_back:
            share = (target - pace.held_back) / pace.interval
            asked, every = format_duration(target), format_duration(pace.interval)
            behind = f" and it stays {format_duration(pace.held_back)} behind" if pace.held_back else ""
            yield Problem(
                message=f"'{table.name}' has a target lag of {asked}, but its data moves every {every}{behind}: it can "
                f"be within its target for {100 * share:.3g} % of the time at most.",
                origin=table.origin,
                way_out=f"Declare a target_lag of more than {format_duration(pace.interval + pace.held_back)}, or a "
                "period as short as data really comes in.",
            )


def slow_joins(tables: Mapping[str, Table]) -> Iterator[Problem]:
    """Views that wait for a source which moves far more seldom than another one of theirs."""
    for table in tables.values():
        periods = {name: period for name in table.timed_sources if (period := tables[name].period) is not None}
        if len(periods) < 2 or not table.has_time:
            continue
        slow, fast = (choose(periods, key=lambda name: (periods[name], name)) for choose in (max, min))
        is_asked_for = table.target_lag is not None and table.target_lag >= periods[slow]
        if periods[slow] >= _MUCH_SLOWER * periods[fast] and not is_asked_for:
            seldom, often = format_duration(periods[slow]), format_duration(periods[fast])
            yield Problem(
                message=f"'{table.name}' gets no fresher than '{slow}', which moves every {seldom}, though '{fast}' "
                f"moves every {often}: rows wait for the slower one.",
                origin=table.origin,
                way_out=f"Declare 'reference' = 'true' on '{slow}': then its newest content counts, and nothing waits "
                f"for it. If waiting is meant, declare a target_lag of {seldom} or more.",
            )


def _paced(tables: Mapping[str, Table], feeds: Mapping[str, Feed]) -> Iterator[tuple[Table, _Pace, float]]:
    """All tables with a target, but those whose target is about how long updates wait."""
    paces: dict[str, _Pace] = {}
    streams: set[str] = set()
    for table in tables.values():
        if table.is_latest or not table.has_time or not streams.isdisjoint(table.timed_sources):
            streams.add(table.name)
        paces[table.name] = pace = _pace(table, paces, tables, feeds)
        if table.target_lag is not None and table.name not in streams:
            yield table, pace, table.target_lag


def _pace(table: Table, paces: Mapping[str, _Pace], tables: Mapping[str, Table], feeds: Mapping[str, Feed]) -> _Pace:
    intervals = (paces[source].interval for source in table.timed_sources)
    interval = max([table.period or 0.0, table.shortest_bucket, *intervals])
    held_back, waits_for = 0.0, None
    for source in table.timed_sources:
        below, feed = paces[source], tables[source].feed
        lateness = feeds[feed.lower()].time.lateness or 0.0 if feed is not None else below.held_back
        if lateness > held_back:
            held_back, waits_for = lateness, feed or below.waits_for
    return _Pace(interval=interval, held_back=held_back, waits_for=waits_for)
