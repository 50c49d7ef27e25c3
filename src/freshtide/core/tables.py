"""Tables as declared: immutable, complete, independent of how they were written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from freshtide.core.errors import Origin
from freshtide.core.grains import Grain
from freshtide.core.latest import LatestSemantics


class Kind(StrEnum):
    """Where the rows of a table come from, and whether each replaces the one before it with the same key."""

    BASE = "base"
    """Rows of a feed."""
    LATEST = "latest"
    """Of the rows of a feed the newest of each key."""
    VIEW = "view"
    """What a query makes of other tables."""
    LATEST_VIEW = "latest view"
    """What a query makes of other tables, of each key one row."""
    MADE = "made"
    """What a flow writes beside the table that it loads, or when it is run by hand."""


class Maintenance(StrEnum):
    """How a derived table is brought up to date."""

    APPEND = "append"
    PARTITIONS = "partitions"
    FULL = "full"
    INCREMENTAL = "incremental"
    """From the changes of its sources, whatever these are, with what has to be kept for that."""
    LATEST = "latest"
    """Only the newest row of each update key counts (Moga et al. 2009)."""


class Emit(StrEnum):
    """Whether a bucketed view shows unfinished buckets."""

    ALL = "all"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReference:
    """A place in a SQL text (character offsets) that names a source."""

    source: str
    start: int
    end: int
    aliased: bool
    """Whether the text gives it an alias of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlQuery:
    """A SELECT as the user wrote it, with the places where it names its sources."""

    text: str
    references: tuple[SourceReference, ...]
    first_line: int = 1
    """Line of the file at which the text starts."""

    @property
    def takes_all(self) -> bool:
        """Whether it is just `SELECT * FROM source`: the rows of its only source as they are."""
        if len(self.references) != 1 or self.references[0].aliased:
            return False
        (reference,) = self.references
        before, after = self.text[: reference.start], self.text[reference.end :]
        return before.upper().split() == ["SELECT", "*", "FROM"] and not after.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionQuery:
    """A Python function from DataFrames, one parameter per source, to a DataFrame."""

    function: Callable[..., Any] = field(compare=False)
    parameters: Mapping[str, str]
    """Parameter name to source name, in the order of the parameters."""
    fingerprint: str


Query = SqlQuery | FunctionQuery


def named_sources(query: Query) -> tuple[str, ...]:
    """The source of each place of the query that names one; a table joined with itself is there twice."""
    if isinstance(query, SqlQuery):
        return tuple(reference.source for reference in query.references)
    return tuple(query.parameters.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A base table (it has a feed), a derived table (it has sources), or one that a flow makes."""

    name: str
    query: Query
    feed: str | None = None
    sources: tuple[str, ...] = ()
    priority: float = 1.0
    target_lag: float | None = None
    period: float | None = None
    """Base tables: the feed's. Derived tables: the largest among the ancestors."""
    time_column: str | None = None
    maintain: Maintenance = Maintenance.FULL
    grain: Grain | None = None
    lookback: float | None = None
    emit: Emit = Emit.ALL
    linear: bool = False
    """Whether new rows come from joining new source rows with all others (inner joins, no grouping)."""
    exact_time: bool = True
    """Whether a row stamped t appears as soon as the sources have reached t, and never later."""
    partition_by: tuple[str, ...] = ()
    partitioned_as_fed: tuple[str, ...] = ()
    """Base tables: those columns of `partition_by` that the query passes on as they are in the feed."""
    row_for_row: bool = False
    """Base tables: whether the query is known to make exactly one row of each row that it is given."""
    update_group: str | None = None
    """The name it shares with the tables that are updated together with it."""
    flow: str | None = None
    """Base tables: the ETL flow that the rows of the query go through; what it writes to the table is the table's."""
    made_by: str | None = None
    """The ETL flow that writes it as one of its other targets: it has no query, and no updates of its own."""
    is_reference: bool = False
    """Whether those who read it take its newest content as a whole, and never wait for its time to move."""
    is_replaced: bool = False
    """Base tables: whether the newest file of its feed takes the place of all that it holds."""
    reference_sources: tuple[str, ...] = ()
    """Those of the sources that are reference tables."""
    latest: LatestSemantics | None = None
    """Of a table in which each row supersedes the one before it with the same key."""
    comment: str | None = None
    maintenance_reason: str = ""
    may_follow: bool = False
    """Views that are computed in full: whether updates may follow what has changed instead, where that takes less."""
    origin: Origin | None = None

    @property
    def kind(self) -> Kind:
        if self.made_by is not None:
            return Kind.MADE
        if self.feed is not None:
            return Kind.BASE if self.latest is None else Kind.LATEST
        return Kind.VIEW if self.latest is None else Kind.LATEST_VIEW

    @property
    def is_base(self) -> bool:
        return self.feed is not None

    @property
    def is_derived(self) -> bool:
        """Whether it is computed from other tables."""
        return self.kind in (Kind.VIEW, Kind.LATEST_VIEW)

    @property
    def timed_sources(self) -> tuple[str, ...]:
        """The sources whose time it goes by."""
        return tuple(source for source in self.sources if source not in self.reference_sources)

    @property
    def has_time(self) -> bool:
        """Whether it moves on in time; a reference table of files, or of other reference tables, only changes."""
        return not self.is_reference or bool(self.timed_sources)

    @property
    def has_own_content(self) -> bool:
        """Of a reference table: whether its content is its own. A view of nothing but others stands for these."""
        return not self.is_derived or self.is_latest or self.has_time

    @property
    def timed_places(self) -> int:
        """How many places of its query name a source whose time it goes by."""
        return sum(source not in self.reference_sources for source in named_sources(self.query))

    @property
    def is_latest(self) -> bool:
        """Whether a row replaces the one before it with the same key."""
        return self.kind in (Kind.LATEST, Kind.LATEST_VIEW)

    @property
    def has_windows(self) -> bool:
        """Whether its query is given windows of keys, so that it holds results of these instead of rows."""
        return self.latest is not None and self.latest.windows is not None

    @property
    def emits_closed_buckets(self) -> bool:
        return self.emit is Emit.CLOSED

    @property
    def shortest_bucket(self) -> float:
        """In seconds, of a table that emits closed buckets; 0 for others: they move by any time."""
        return self.grain.widths[0] if self.emits_closed_buckets and self.grain is not None else 0.0
