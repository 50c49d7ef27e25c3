"""python -m bench.lander: lands files at given moments, in a process of its own.

What it takes to write them is no work of the warehouse: in its process 400 files a second would keep it busy
for a quarter of the time. Reads a `Schedule` as JSON from its standard input, and prints what it has landed as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypedDict

from bench.readings import write_readings

_SPAN = timedelta(seconds=1)


class Schedule(TypedDict):
    """What to land."""

    folder: str
    """Each feed has a folder of its name in it."""
    aside: str
    """Where files are written before they are renamed into place."""
    rows: int
    """Of a file."""
    seed: int
    due: list[tuple[float, str]]
    """Seconds from now, and a feed; in the order of time."""


class Landed(TypedDict):
    """What was landed."""

    begun: float
    """The moment from which those of the schedule were counted."""
    stamps: dict[str, list[float]]
    """By feed the time stamps of its files, each the moment of its landing."""


def file_name(number: int) -> str:
    """Of the file that lands in a feed after so many others."""
    return f"{number:05d}.csv"


def land(schedule: Schedule) -> Landed:
    rng = random.Random(schedule["seed"])
    landing, aside = Path(schedule["folder"]), Path(schedule["aside"])
    stamps: dict[str, list[float]] = defaultdict(list)
    begun, moment = time.monotonic(), time.time()
    for due, feed in schedule["due"]:
        while (left := begun + due - time.monotonic()) > 0.0:
            time.sleep(left)
        now = datetime.now(UTC)
        stamp = now.replace(microsecond=now.microsecond // 1000 * 1000)
        written = aside / f"{feed}.csv"
        write_readings(written, index=0, rows=schedule["rows"], span=_SPAN, rng=rng, start=stamp - _SPAN)
        written.rename(landing / feed / file_name(len(stamps[feed])))
        stamps[feed].append(stamp.timestamp())
    return Landed(begun=moment, stamps=stamps)


if __name__ == "__main__":
    json.dump(land(json.load(sys.stdin)), sys.stdout)
