"""An update as data: what it reads and what it writes, decided before anything of it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.core.arrivals import Arrival
from freshtide.core.choosing import Way
from freshtide.core.feeds import Column
from freshtide.core.loads import LoadPlan
from freshtide.core.sides import sides
from freshtide.core.tables import Kind, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a kind of step does with a table, whatever there is to be done at a moment."""

    step: str
    reads: tuple[str, ...]
    """Feeds or tables."""
    writes: tuple[str, ...]
    """Tables, in the order in which they are committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Take files into a base table; in a rebuild they become its whole content."""

    table: Table
    plan: LoadPlan
    extra: tuple[Column, ...] = ()
    """Columns that the feed has gained beyond its declaration."""
    rebuild: bool = False

    @staticmethod
    def outline(table: Table) -> Outline:
        return Outline(step="load", reads=_fed(table), writes=(*sides(table), table.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Of a view that is computed anew in parts, what one of them computes: what the view gains from cut to cut."""

    after: int | None
    """Where the part before it ends, in microseconds; None: it is the first."""
    is_last: bool
    """Whether what is still open at its end is part of it. Of any other one the next part computes that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """Bring a view to a cut; in a rebuild all of it is computed anew."""

    table: Table
    upto: float
    rebuild: bool = False
    span: Span | None = None
    """Where the view is computed anew in parts: this one, which ends at the cut."""
    way: Way | None = None
    """Of a view that may be computed in either way: which one was chosen."""

    @staticmethod
    def outline(table: Table) -> Outline:
        return Outline(step="refresh", reads=table.sources, writes=(table.name,))


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeIn:
    """Let the rows of files wait for a latest table."""

    table: Table
    files: tuple[Arrival, ...]
    extra: tuple[Column, ...] = ()

    @staticmethod
    def outline(table: Table) -> Outline:
        return Outline(step="take in", reads=_fed(table), writes=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Bring what waits longest for a latest table into it; in a rebuild what these files alone give."""

    table: Table
    files: tuple[Arrival, ...] = ()
    extra: tuple[Column, ...] = ()
    rebuild: bool = False

    @staticmethod
    def outline(table: Table) -> Outline:
        return Outline(step="merge", reads=_fed(table), writes=(*sides(table), table.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidy:
    """Merge small files of a table, and drop what nobody needs any more."""

    table: Table

    @staticmethod
    def outline(table: Table) -> Outline:
        own = (*(sides(table) if table.is_base else ()), table.name)
        return Outline(step="tidy", reads=own, writes=own)


ComputedStep = Load | Refresh | TakeIn | Merge
Step = ComputedStep | Tidy

_FORWARD: Mapping[Kind, tuple[type[Step], ...]] = {
    Kind.BASE: (Load, Tidy),
    Kind.LATEST: (TakeIn, Merge, Tidy),
    Kind.VIEW: (Refresh, Tidy),
    Kind.LATEST_VIEW: (Refresh, Tidy),
    Kind.MADE: (),
}


def forward(table: Table) -> tuple[Outline, ...]:
    """The steps that bring a table forward, in their order."""
    return tuple(step.outline(table) for step in _FORWARD[table.kind])


def _fed(table: Table) -> tuple[str, ...]:
    return () if table.feed is None else (table.feed,)
