"""Tables for queries at random, and rows at random: few values that meet often, with nulls, ties and odd ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]

KINDS: Mapping[str, pa.DataType] = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "text": pa.string(),
    "decimal": pa.decimal128(10, 2),
    "double": pa.float64(),
    "time": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
    "flag": pa.bool_(),
    "bytes": pa.binary(),
    "list": pa.list_(pa.int32()),
    "pair": pa.struct([("p", pa.int32()), ("q", pa.string())]),
}
"""What columns hold."""

TABLES: Mapping[str, Mapping[str, str]] = {
    "facts": {"a": "int", "b": "text", "x": "decimal", "d": "double", "ts": "time"},
    "places": {"a": "int", "name": "text", "z": "bigint", "day": "date", "ok": "flag"},
    "odds": {"Key no. 1": "int", "mixedCase": "text", "raw": "bytes", "tags": "list", "both": "pair", "seen": "time"},
}
"""The kinds of the columns of each table."""

# The night in which Berlin's clocks go forward.
_NIGHT = datetime(2024, 3, 30, 23, tzinfo=UTC)

_DRAWN: Mapping[str, Callable[[Random], Any]] = {
    "int": lambda rng: rng.randint(1, 4),
    "bigint": lambda rng: rng.choice((1, 2, 3, 10, 20)),
    "text": lambda rng: rng.choice("uvw"),
    "decimal": lambda rng: Decimal(rng.choice((-500, -25, 0, 25, 100, 101, 1999))) / 100,
    # Quarters are added up exactly, in whatever order.
    "double": lambda rng: rng.choice((0.25, 0.5, 1.25, -3.0, 0.0, -0.0, float("nan") if rng.random() < 0.2 else 8.0)),
    "time": lambda rng: _NIGHT + timedelta(minutes=10 * rng.randint(0, 24)),
    "date": lambda rng: date(2024, 3, rng.randint(30, 31)),
    "flag": lambda rng: rng.random() < 0.5,
    "bytes": lambda rng: rng.choice((b"", b"\x00", b"\xff")),
    "list": lambda rng: [rng.choice((None, 1, 2)) for _ in range(rng.randint(0, 2))],
    "pair": lambda rng: {"p": rng.choice((None, 1)), "q": rng.choice((None, "u"))},
}


def row(rng: Random, table: str) -> Row:
    return tuple(None if rng.random() < 0.15 else _DRAWN[kind](rng) for kind in TABLES[table].values())


def moved(rng: Random, table: str, rows: list[Row]) -> list[Row]:
    """The rows a step later: some have gone, some have come, some were there already."""
    left = list(rows)
    if rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2, len(left)))):
            if left:
                left.pop(rng.randrange(len(left)))
    if rng.random() < 0.75:
        left += [row(rng, table) for _ in range(rng.randint(1, 3))]
    if left and rng.random() < 0.3:
        left.append(rng.choice(left))
    return left


def arrow_schema(table: str) -> pa.Schema:
    return pa.schema([(name, KINDS[kind]) for name, kind in TABLES[table].items()])


def arrow_rows(table: str, rows: list[Row]) -> pa.Table:
    schema = arrow_schema(table)
    return pa.table([[one[at] for one in rows] for at in range(len(schema))], schema=schema)
