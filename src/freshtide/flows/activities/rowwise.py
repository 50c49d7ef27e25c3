"""Activities that take one row after another and need no other to know what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from freshtide.flows.activities.activity import OTHERWISE, OUT, QUARANTINE, Activity


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Activity):
    kind = "filter"
    needed = ("condition",)
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNull(Activity):
    """Lets rows pass that have a value in every one of the columns; the others go into quarantine."""

    kind = "not_null"
    needed = ("columns",)
    columns: tuple[str, ...]

    @property
    def ports(self) -> tuple[str, ...]:
        return (OUT, QUARANTINE)

    @property
    def optional_ports(self) -> tuple[str, ...]:
        return (QUARANTINE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression(Activity):
    """Adds or replaces columns, or keeps only these."""

    kind = "expression"
    needed = ("columns",)
    columns: Mapping[str, str]
    """Name to SQL expression over the columns that come in."""
    only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(Activity):
    """A function of the user's from DataFrame to DataFrame, row pack by row pack."""

    kind = "function"
    function: Callable[[Any], Any]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogateKey(Activity):
    """Replaces production keys by surrogate keys from a lookup table, where new ones are assigned once and for ever."""

    kind = "surrogate_key"
    needed = ("key", "column", "lookup")
    memory_intensive = True
    key: tuple[str, ...]
    column: str
    lookup: str
    """A table with the production key's columns and the surrogate key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Router(Activity):
    """Sends each row where its condition holds; what fits no route goes `otherwise`, if somebody takes it there."""

    kind = "router"
    needed = ("routes",)
    routes: Mapping[str, str]

    @property
    def ports(self) -> tuple[str, ...]:
        return (*self.routes, OTHERWISE)

    @property
    def optional_ports(self) -> tuple[str, ...]:
        return (OTHERWISE,)
