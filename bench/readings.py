"""The data of all benchmarks: readings of devices, as CSV files that follow one another in time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

SCHEMA = {"ts": "timestamp", "device": "string", "value": "double", "seen": "bigint", "status": "string"}
DDL = ", ".join(f"{name} {kind}" for name, kind in SCHEMA.items())
_HEADER = ",".join(SCHEMA) + "\n"
_START = datetime(2026, 1, 5, tzinfo=UTC)
_STATUSES = ("ok", "ok", "ok", "warning", "failed")


def write_readings(
    path: Path, *, index: int, rows: int, span: timedelta, rng: random.Random, start: datetime = _START
) -> Path:
    """Write the file of the index-th span of time: every row is younger than all rows of the files before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write(_HEADER)
        file.writelines(_lines(start + index * span, rows, span / rows, rng))
    return path


def _lines(begin: datetime, rows: int, step: timedelta, rng: random.Random) -> Iterator[str]:
    for row in range(rows):
        at = begin + (row + 1) * step
        value, seen = rng.random() * 1_000, rng.getrandbits(30)
        stamp = at.isoformat(timespec="microseconds")[:26]
        yield f"{stamp}Z,device-{seen % 5_000:04d},{value:.4f},{seen},{_STATUSES[seen % 5]}\n"
