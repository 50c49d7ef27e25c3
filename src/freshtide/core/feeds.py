"""Feeds as declared: where rows come from, how they are written, and what their times mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self

from freshtide.core.errors import Origin

UTC_ZONE = "UTC"
FUTURE_LIMIT = 3_600.0
"""Seconds that the time of a row may lie beyond its arrival, unless its feed says otherwise."""


class Duplicates(StrEnum):
    """What happens to a file whose content has been seen before in its feed."""

    SKIP = "skip"
    LOAD = "load"


class SchemaChange(StrEnum):
    """What happens to a file that has other columns than its feed declares."""

    FAIL = "fail"
    EVOLVE = "evolve"


class FeedContent(StrEnum):
    """What the files of a feed are to each other."""

    ALL = "all"
    """They add up."""
    NEWEST = "newest"
    """Each holds everything, so the newest takes the place of those before it."""


class TimestampFrom(StrEnum):
    """Where a file's timestamp comes from."""

    NAME = "name"
    CONTENT = "content"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a feed; the type is a Spark SQL type."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTime:
    """The time of a feed's rows: where it stands, how it is written, and what it may be."""

    column: str | None
    """None: rows have no time, and are reference data."""
    format: str | None = None
    """A Spark datetime pattern, `epoch_seconds` or `epoch_millis`; None for ISO 8601."""
    expression: str | None = None
    """In Spark SQL, over the columns of the schema: then `column` is in no file, and computed from those that are."""
    lateness: float | None = None
    """How long after its timestamp a row may still arrive; later ones are kept aside. None: files come in order, and
    what comes out of order all the same is taken in (with punctuation: only that says what is late)."""
    future_limit: float | None = FUTURE_LIMIT
    """How far beyond its arrival the time of a row, or the time stamp of a file, may lie. None: any distance."""

    @property
    def known_column(self) -> str:
        """The column of rows that are known to have a time."""
        assert self.column is not None, "these rows have no time"
        return self.column


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredRhythm:
    """When files are expected, as far as it is declared; what is not is learnt."""

    period: float | None = None
    phase: float | None = None
    """An instant: any of those by which, one period after the other, a file is there."""
    jitter: float | None = None
    """How long before that a file may be there; at most the period."""
    timestamp_jitter: float | None = None
    """How much older than its arrival the time stamp of a file may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """When a file counts as complete.

    With a marker (`{name}.done`) it is complete once the marker exists. Otherwise once it has not
    changed for `quiet` seconds; 0 is for producers that rename complete files into place.
    """

    quiet: float = 1.0
    marker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSource:
    """Files of one kind that keep arriving under a folder."""

    path: str
    """A glob, absolute or relative to the project: `landing/cpu/**/*.csv`."""
    timestamp_from: TimestampFrom = TimestampFrom.CONTENT
    name_pattern: str | None = None
    """For `timestamp_from: name`: the file name with strptime codes and `*`, e.g. `cpu_%Y%m%d%H%M*.csv`."""
    settling: Settling = Settling()
    punctuation: str | None = None
    """A glob for punctuation files, which hold one timestamp: nothing older will arrive."""
    duplicates: Duplicates = Duplicates.SKIP
    content: FeedContent = FeedContent.ALL
    follow_links: bool = False
    """Whether links that lead out of the feed's folder are followed."""
    max_size: int | None = None
    """Bytes that a file may hold, unpacked; None: what the machine can be expected to cope with."""
    max_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketSource:
    """JSON lines over TCP: from whoever connects to this address or, with `connect`, from whoever listens there."""

    host: str
    port: int
    connect: bool = False
    secret: str | None = field(default=None, repr=False)
    """What everybody who connects has to say first or, with `connect`, what is said first to who listens."""
    connections: int = 100
    """How many may be connected at once."""
    idle: float = 3_600.0
    """Seconds after which a connection is closed of which nothing is heard."""

    @property
    def is_open_to_others(self) -> bool:
        """Whether who can reach the machine can send, and need not know anything for it."""
        local = self.host in ("localhost", "::1") or self.host.startswith("127.")
        return not (self.connect or local or self.secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorSource:
    """Rows that a Python function yields, as mappings from column to value."""

    function: Callable[[], Iterable[Mapping[str, Any]]] = field(compare=False)
    fingerprint: str


StreamSource = SocketSource | GeneratorSource
"""Single rows, which are nowhere else: only tables of the newest row per key can read them."""
Source = FolderSource | StreamSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How rows are written. Each format is a class of its own, with the options that only it has."""

    name: ClassVar[str]
    """As users write it."""
    encoding: str = "utf-8"
    """Of text. What is no text knows only this one."""

    @classmethod
    def of(cls, feed: Feed) -> Self:
        """The options of a feed that is known to have this format."""
        assert isinstance(feed.format, cls), f"'{feed.name}' is {feed.format.name}, not {cls.name}"
        return feed.format


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Rows of one kind that keep arriving."""

    name: str
    schema: tuple[Column, ...]
    time: RowTime
    source: Source
    format: Format
    rhythm: DeclaredRhythm = DeclaredRhythm()
    on_schema_change: SchemaChange = SchemaChange.FAIL
    time_zone: str = UTC_ZONE
    """Where the clocks are that times without an offset were read from."""
    origin: Origin | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of its rows: the ones that are brought, and behind them a time that is computed from them."""
        if self.time.expression is None:
            return self.schema
        return (*self.schema, Column(name=self.time.known_column, type="timestamp"))

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def brought_names(self) -> tuple[str, ...]:
        """The names of the columns that are brought."""
        return tuple(column.name for column in self.schema)

    @property
    def zone_of_times(self) -> str:
        """That of the time column. A date is a day of UTC, as dates in tables are."""
        types = {column.type for column in self.schema if column.name == self.time.column}
        is_date = types == {"date"} and self.time.format is None
        return UTC_ZONE if is_date else self.time_zone

    @property
    def meaning_of_times(self) -> str:
        """What makes the same rows have other times if it changes; empty as long as nothing is said."""
        zone = "" if self.time_zone == UTC_ZONE else self.time_zone
        return zone if self.time.expression is None else f"{zone} {self.time.expression}"

    @property
    def brings_files(self) -> bool:
        """Whether its rows come in files, which can be read again, and not one by one."""
        return isinstance(self.source, FolderSource)

    @property
    def folder(self) -> FolderSource:
        """The source of a feed that brings files."""
        assert isinstance(self.source, FolderSource), f"'{self.name}' brings single rows"
        return self.source

    @property
    def is_replaced(self) -> bool:
        """Whether its newest file is all that there is."""
        return isinstance(self.source, FolderSource) and self.source.content is FeedContent.NEWEST

    @property
    def is_reference(self) -> bool:
        """Whether its rows have no time to go by: there is none, or they go with the file that they came in."""
        return self.time.column is None or self.is_replaced

    @property
    def is_punctuated(self) -> bool:
        """Whether files of their own say up to when it is complete."""
        return isinstance(self.source, FolderSource) and self.source.punctuation is not None
