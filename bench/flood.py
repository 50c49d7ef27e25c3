"""One feed of many brings a hundred times as much as before: how stale are the tables of the others then."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from heapq import merge
from pathlib import Path
from statistics import quantiles

from bench.landings import ROWS, declare, evenly, feed_names, land, table_of
from bench.results import Report
from bench.running import Running
from freshtide import Warehouse
from freshtide.catalog import UpdateRow
from freshtide.spark import start_session

_FEEDS, _TIMES, _TRACKS = 20, 100, 2
_LOOKS = 0.02
"""Seconds between two looks at how stale the tables were."""


def run(folder: Path, *, quick: bool) -> Report:
    warm_up, calm, flood = (5.0, 5.0, 5.0) if quick else (60.0, 90.0, 90.0)
    report = Report(name="flood")
    spark = start_session({}, log=folder / "spark.log")
    feeds = feed_names(_FEEDS)
    flooded, *others = map(table_of, feeds)
    place = folder / "warehouse"
    with Warehouse(place, spark=spark, tracks=_TRACKS) as warehouse:
        declare(warehouse, feeds, place)
        with Running(warehouse) as running:
            usual = evenly(feeds, seconds=warm_up + calm + flood)
            due = merge(usual, _flood(feeds[0], since=warm_up + calm, seconds=flood))
            landed = land(place, due, seed=1)
            begun, ended = landed["begun"], time.time()
            updates = running.workbench.catalog.updates.done_since(begun)
            newest = landed["stamps"][feeds[0]][-1]
            caught_up = running.wait(lambda: _reached(running, flooded, begun) >= newest, limit=120.0, every=0.5)
            caught_up_after = time.time() - ended
    spark.stop()
    turned = begun + warm_up + calm
    before, after = (
        [_staleness(updates, table, since, until) for table in others]
        for since, until in ((begun + warm_up, turned), (turned, ended))
    )
    pooled = [quantiles((look for looks in side for look in looks), n=20)[18] for side in (before, after)]
    each = [quantiles(new, n=20)[18] / quantiles(old, n=20)[18] for old, new in zip(before, after, strict=True)]
    report.table(
        f"{_FEEDS} equal tables, a file of {ROWS} rows per second for each; then one feed brings {_TIMES} per second "
        f"for {flood:.0f} s",
        ("", "value"),
        [
            ("p95 staleness of the others before, s", pooled[0]),
            ("p95 staleness of the others in the flood, s", pooled[1]),
            ("ratio (goal: at most 1.1)", pooled[1] / pooled[0]),
            ("the largest ratio of one table", max(each)),
            ("the flooded table had caught up after, s", caught_up_after if caught_up else "more than 120"),
        ],
    )
    report.figures |= {"before": pooled[0], "flood": pooled[1], "ratio": pooled[1] / pooled[0], "largest": max(each)}
    return report


def _flood(feed: str, *, since: float, seconds: float) -> Iterator[tuple[float, str]]:
    """Beside the file per second that it brings anyway."""
    for number in range(int(seconds * (_TIMES - 1))):
        yield since + number / (_TIMES - 1), feed


def _reached(running: Running, table: str, since: float) -> float:
    rows = running.workbench.catalog.updates.done_since(since)
    return max((row.freshness or 0.0 for row in rows if row.table == table), default=0.0)


def _staleness(updates: Sequence[UpdateRow], table: str, since: float, until: float) -> list[float]:
    """How stale a table was, at moments that are equally far apart."""
    commits = sorted(
        (row.finished_at, row.freshness)
        for row in updates
        if row.table == table and row.finished_at is not None and row.freshness is not None
    )
    found, place, freshness = list[float](), 0, commits[0][1]
    for number in range(int((until - since) / _LOOKS)):
        moment = since + number * _LOOKS
        while place < len(commits) and commits[place][0] <= moment:
            freshness = max(freshness, commits[place][1])
            place += 1
        found.append(moment - freshness)
    return found
