"""Small files that land one after another in the folders of equal feeds, stamped with the moment of their landing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.lander import Landed, Schedule, file_name
from bench.running import add_feed
from freshtide import Warehouse

ROWS = 100
"""Of a file."""


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
    return landing(folder, feed) / file_name(number)


def evenly(feeds: Sequence[str], *, seconds: float) -> list[tuple[float, str]]:
    """When to land which: a file per second for each, spread over the second."""
    turns = ((second, place) for second in range(int(seconds)) for place in range(len(feeds)))
    return [(second + place / len(feeds), feeds[place]) for second, place in turns]


def land(folder: Path, due: Iterable[tuple[float, str]], *, seed: int) -> Landed:
    """Land files at moments counted from now, and wait until all of them have."""
    schedule = Schedule(
        folder=str(folder / "landing"), aside=str(folder / "outbox"), rows=ROWS, seed=seed, due=list(due)
    )
    command = [sys.executable, "-m", "bench.lander"]
    done = subprocess.run(command, input=json.dumps(schedule), stdout=subprocess.PIPE, text=True, check=True)
    landed: Landed = json.loads(done.stdout)
    return landed
