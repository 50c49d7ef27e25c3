"""Activities that wait for all rows of their input, as any of them may change what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.flows.activities.activity import Blocking


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicate(Blocking):
    """One row per key: the first by the order, or any where all of a row is the key."""

    kind = "deduplicate"
    key: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(Blocking):
    kind = "sort"
    needed = ("by",)
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Blocking):
    kind = "aggregate"
    needed = ("columns",)
    by: tuple[str, ...]
    columns: Mapping[str, str]
    """Name to SQL aggregate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pivot(Blocking):
    kind = "pivot"
    needed = ("column", "values", "columns")
    by: tuple[str, ...]
    column: str
    values: tuple[str | int, ...]
    columns: Mapping[str, str]
