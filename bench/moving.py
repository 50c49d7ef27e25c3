"""Tables that move, and queries over them: what `incremental` measures views by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_BEGINNING = 1_700_000_000.0
_BETWEEN = 60.0


def stamp_of(batch: int) -> float:
    """When a batch is said to have come: seconds since the epoch."""
    return _BEGINNING + batch * _BETWEEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A base table and the feed of Parquet files that it is loaded from; without a time it is reference data."""

    name: str
    schema: Mapping[str, str]
    time_column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What comes at once: a file for each table that gets rows."""

    files: Mapping[str, Path]
    stamp: float
    """Up to which views can be brought then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tables, what happens to them, and queries over them."""

    name: str
    tables: tuple[Declared, ...]
    queries: Mapping[str, str]
    """By name, in SQL that Spark and DuckDB understand, unless `peer` has other words for DuckDB."""
    batches: Callable[[Path, int], Iterator[Batch]]
    """Writes files into a folder: what is there at first, then so many batches."""
    most: int
    """How many batches there can be."""
    peer: Mapping[str, str] | None = None

    def for_duckdb(self, name: str) -> str:
        return (self.peer or {}).get(name, self.queries[name])
