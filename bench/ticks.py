"""A stream of updates for benchmarks: few keys that change often, many that change seldom, as CSV files."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

SCHEMA = {"ts": "timestamp", "k": "string", "seq": "bigint", "v": "double"}
DDL = ", ".join(f"{name} {kind}" for name, kind in SCHEMA.items())
_START = datetime(2026, 1, 5, tzinfo=UTC)
_STEP = timedelta(microseconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickFile:
    """A file of ticks, and the keys of its rows, in their order."""

    path: Path
    keys: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A file that has landed."""

    at: float
    keys: Sequence[str]


def zipf_keys(count: int, *, keys: int, theta: float, rng: random.Random) -> list[str]:
    """So many draws: the share of the key of rank r falls with r**theta."""
    cumulated = list(accumulate(1.0 / rank**theta for rank in range(1, keys + 1)))
    return rng.choices([f"key-{rank:05d}" for rank in range(keys)], cum_weights=cumulated, k=count)


def write_ticks(folder: Path, keys: Sequence[str], *, per_file: int, first: int, rng: random.Random) -> list[TickFile]:
    """Files with a row for each key; rows are numbered from `first` on, and younger the larger their number is."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for begin in range(0, len(keys), per_file):
        path, part = folder / f"{begin:09d}.csv", keys[begin : begin + per_file]
        with path.open("w") as file:
            file.write(",".join(SCHEMA) + "\n")
            file.writelines(_lines(part, first + begin, rng))
        files.append(TickFile(path=path, keys=part))
    return files


def land(files: Sequence[TickFile], folder: Path, *, period: float, check: Callable[[], None]) -> list[Arrival]:
    """Let a file land every `period` seconds; `check` raises if whoever reads them has failed.

    They are links, complete when they appear: so all who are compared get the same files, one after the other.
    """
    begun = time.monotonic()
    arrivals = []
    for number, file in enumerate(files):
        time.sleep(max(0.0, begun + number * period - time.monotonic()))
        check()
        arrivals.append(Arrival(at=time.time(), keys=file.keys))
        os.link(file.path, folder / f"{file.path.parent.name}-{file.path.name}")
    return arrivals


def _lines(keys: Sequence[str], first: int, rng: random.Random) -> Iterator[str]:
    for number, key in enumerate(keys, first):
        stamp = (_START + number * _STEP).isoformat(timespec="microseconds")[:26]
        yield f"{stamp}Z,{key},{number},{rng.random():.6f}\n"
