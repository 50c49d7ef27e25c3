"""Small files that land one after another in the folders of equal feeds, stamped with the moment of their landing."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from bench.readings import write_readings
from bench.running import add_feed, drop
from freshtide import Warehouse

ROWS = 100
"""Of a file."""
_SPAN = timedelta(seconds=1)


def feed_names(number: int) -> list[str]:
    return [f"feed_{index:03d}" for index in range(number)]


def table_of(feed: str) -> str:
    return feed.replace("feed", "readings")


def declare(warehouse: Warehouse, feeds: Sequence[str], folder: Path) -> None:
    """A feed and a base table each, all alike."""
    for feed in feeds:
        add_feed(warehouse, feed, landing(folder, feed))
        warehouse.sql(f"CREATE STREAMING TABLE {table_of(feed)} AS SELECT * FROM STREAM {feed}")


def landing(folder: Path, feed: str) -> Path:
    return folder / "landing" / feed


def path_of(folder: Path, feed: str, number: int) -> Path:
    """Of the file that landed in a feed after so many others."""
    return landing(folder, feed) / f"{number:05d}.csv"


def evenly(feeds: Sequence[str], *, seconds: float) -> list[tuple[float, str]]:
    """When to land which: a file per second for each, spread over the second."""
    turns = ((second, place) for second in range(int(seconds)) for place in range(len(feeds)))
    return [(second + place / len(feeds), feeds[place]) for second, place in turns]


def land(folder: Path, due: Iterable[tuple[float, str]], *, seed: int) -> dict[str, list[float]]:
    """Land files at moments counted from now; by feed the time stamps of its files."""
    rng = random.Random(seed)
    landed: dict[str, list[float]] = defaultdict(list)
    numbers: dict[str, count[int]] = defaultdict(count)
    begun = time.monotonic()
    for moment, feed in due:
        while (left := begun + moment - time.monotonic()) > 0.0:
            time.sleep(left)
        now = datetime.now(UTC)
        stamp = now.replace(microsecond=now.microsecond // 1000 * 1000)
        aside = folder / "outbox" / f"{feed}.csv"
        write_readings(aside, index=0, rows=ROWS, span=_SPAN, rng=rng, start=stamp - _SPAN)
        drop({aside: path_of(folder, feed, next(numbers[feed]))})
        landed[feed].append(stamp.timestamp())
    return landed
