"""An update as data: what it reads and what it writes, decided before anything of it is carried out."""

from __future__ import annotations

from dataclasses import dataclass

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column
from freshtide.core.loads import LoadPlan
from freshtide.core.sides import sides
from freshtide.core.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Take files into a base table; in a rebuild they become its whole content."""

    table: Table
    plan: LoadPlan
    extra: tuple[Column, ...] = ()
    """Columns that the feed has gained beyond its declaration."""
    rebuild: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        return () if self.table.feed is None else (self.table.feed,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (*sides(self.table), self.table.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """Bring a view to a cut; in a rebuild all of it is computed anew."""

    table: Table
    upto: float
    rebuild: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        return self.table.sources

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.table.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeIn:
    """Let the rows of files wait for a latest table."""

    table: Table
    files: tuple[Arrival, ...]
    extra: tuple[Column, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        return () if self.table.feed is None else (self.table.feed,)

    @property
    def writes(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Bring what waits longest for a latest table into it; in a rebuild what these files alone give."""

    table: Table
    files: tuple[Arrival, ...] = ()
    extra: tuple[Column, ...] = ()
    rebuild: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        return () if self.table.feed is None else (self.table.feed,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (*sides(self.table), self.table.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidy:
    """Merge small files of a table, and drop what nobody needs any more."""

    table: Table

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.table.name,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (*(sides(self.table) if self.table.is_base else ()), self.table.name)


ComputedStep = Load | Refresh | TakeIn | Merge
Step = ComputedStep | Tidy
