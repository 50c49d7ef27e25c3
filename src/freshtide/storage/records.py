"""What a commit says about the update it belongs to, kept in the commit's metadata."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from freshtide.core.arrivals import Arrival, ArrivalState

# Before every timestamp: a revision from here on concerns all rows.
BEGINNING = -(2**62)
_ADDED_UP = ("read", "loaded", "diverted", "rejected", "late", "superseded", "replaced", "windowed", "waiting", "gone")


class UpdateKind(StrEnum):
    LOAD = "load"
    """A base table took in files."""
    REFRESH = "refresh"
    """A derived table moved to a new cut."""
    REBUILD = "rebuild"
    """A table was computed anew as of the freshness it had."""
    MERGE = "merge"
    """A table of one row per key took in newer rows."""
    FLOW = "flow"
    """An ETL flow wrote it, together with its other targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedArrival:
    """What a load took in of a feed."""

    position: str
    digest: str
    timestamp: float | None
    rows: int | None
    punctuation: bool = False

    @classmethod
    def of(cls, file: Arrival) -> LoadedArrival:
        return cls(
            position=file.position,
            digest=file.digest,
            timestamp=file.timestamp,
            rows=file.rows,
            punctuation=file.state is ArrivalState.PUNCTUATION,
        )

    def to_metadata(self) -> list[Any]:
        return [self.position, self.digest, self.timestamp, self.rows, self.punctuation]

    @classmethod
    def from_metadata(cls, data: Sequence[Any]) -> LoadedArrival:
        position, digest, timestamp, rows, punctuation = data
        return cls(position=position, digest=digest, timestamp=timestamp, rows=rows, punctuation=punctuation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Where the rows of a load went. `read` is all of them."""

    read: int = 0
    loaded: int = 0
    rejected: int = 0
    late: int = 0
    flowed: int | None = None
    """Rows that went into the flow that loads the table; None: they went into the table."""
    superseded: int = 0
    """Rows that newer ones of their keys took the place of before they came into the table."""
    replaced: int = 0
    """Rows that newer ones of their keys took the place of in the table."""
    windowed: int | None = None
    """Rows that came into windows, where results of those are loaded; None: rows are loaded one by one."""
    waiting: int = 0
    """By so many more rows wait for their first window; less than none where more got there than were read."""
    gone: int = 0
    """Keys that have gone for the first time, of a table that keeps in mind which have."""

    @property
    def filtered(self) -> int:
        """Rows that the table's own query left out. It is given whole windows: of those it leaves no row out."""
        came_in = self.loaded + self.replaced if self.windowed is None else self.windowed
        return self.read - came_in - self.diverted - self.rejected - self.late - self.superseded - self.waiting

    @property
    def diverted(self) -> int:
        """Rows that a flow took in and did not write to the table; less than none where it made more of them."""
        return 0 if self.flowed is None else self.flowed - self.loaded

    def __add__(self, other: Counts) -> Counts:
        """Of two loads of rows one by one, taken together."""
        assert self.flowed is other.flowed is self.windowed is other.windowed is None, "flows and windows are not cut"
        added = {part: getattr(self, part) + getattr(other, part) for part in ("read", "loaded", "rejected", "late")}
        return Counts(**added)

    def parts(self) -> dict[str, int]:
        """What is added up over the updates of a table."""
        return {part: getattr(self, part) or 0 for part in _ADDED_UP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who made a commit: by its number alone, another's commit would be taken for one's own."""

    epoch: int = 0
    """Of the right to write that it was made with."""
    nonce: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Of this one attempt to update the table, and of no other."""

    def to_metadata(self) -> list[Any]:
        return [self.epoch, self.nonce]

    @classmethod
    def from_metadata(cls, data: Sequence[Any]) -> Writer:
        epoch, nonce = data
        return cls(epoch=epoch, nonce=nonce)


# What a commit of earlier versions, which did not say, counts as.
UNKNOWN_WRITER = Writer(epoch=0, nonce="")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRecord:
    """One update of a table, as its commit records it. Instants are whole microseconds."""

    number: int
    kind: UpdateKind
    freshness: int | None
    safe: int | None
    definition: str
    """Fingerprint of the query that computed the rows."""
    counts: Counts = Counts()
    arrivals: tuple[LoadedArrival, ...] = ()
    sources: Mapping[str, int] = field(default_factory=dict)
    """Derived tables: the number of the last update of each direct source that is in it; a table that a flow writes
    beside the one that it loads: the number of the update of that one."""
    contents: Mapping[str, int] = field(default_factory=dict)
    """Derived tables: the number of the update of each reference table, read directly or by views below, after which
    all of it has taken its content."""
    targets: Mapping[str, int] = field(default_factory=dict)
    """A table that a flow loads: the number that each table which the flow writes beside it has come to with it."""
    states: Mapping[str, int] = field(default_factory=dict)
    """A view that is maintained from changes: the number that each table of what it keeps has come to with it."""
    from_changes: bool = False
    """Whether it was computed from what had changed of the sources, and not from all that they hold."""
    revised_from: int | None = None
    """Rows stamped from here on, which dependents may have used, are other ones than before; None: no row."""
    left: int = 0
    """Keys of a table of one row per key that have no row any more."""
    times: str = ""
    """What the feed said of its times that the same rows would have others without; see `Feed.meaning_of_times`."""
    writer: Writer = field(default_factory=Writer, compare=False)

    @property
    def may_lose_keys(self) -> bool:
        """Whether a key that was in the table before may have no row in it afterwards."""
        return bool(self.left) or self.kind is UpdateKind.REBUILD

    def to_metadata(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "kind": str(self.kind),
            "freshness": self.freshness,
            "safe": self.safe,
            "definition": self.definition,
            "counts": [self.counts.read, self.counts.loaded, self.counts.rejected, self.counts.late],
            "flowed": self.counts.flowed,
            "superseded": [self.counts.superseded, self.counts.replaced],
            "windows": [self.counts.windowed, self.counts.waiting],
            "gone": self.counts.gone,
            "files": [file.to_metadata() for file in self.arrivals],
            "sources": dict(self.sources),
            "contents": dict(self.contents),
            "targets": dict(self.targets),
            "states": dict(self.states),
            "from_changes": self.from_changes,
            "revised_from": self.revised_from,
            "left": self.left,
            "times": self.times,
            "writer": self.writer.to_metadata(),
        }

    @classmethod
    def from_metadata(cls, data: Mapping[str, Any]) -> UpdateRecord:
        read, loaded, rejected, late = data["counts"]
        superseded, replaced = data.get("superseded", (0, 0))
        windowed, waiting = data.get("windows", (None, 0))
        return cls(
            number=data["number"],
            kind=UpdateKind(data["kind"]),
            freshness=data["freshness"],
            safe=data["safe"],
            definition=data["definition"],
            counts=Counts(
                read=read,
                loaded=loaded,
                rejected=rejected,
                late=late,
                flowed=data.get("flowed"),
                superseded=superseded,
                replaced=replaced,
                windowed=windowed,
                waiting=waiting,
                gone=data.get("gone", 0),
            ),
            arrivals=tuple(LoadedArrival.from_metadata(file) for file in data["files"]),
            sources=data["sources"],
            contents=data.get("contents", {}),
            targets=data.get("targets", {}),
            states=data.get("states", {}),
            from_changes=data.get("from_changes", False),
            revised_from=data["revised_from"],
            left=data.get("left", 0),
            times=data.get("times", ""),
            writer=writer_of(data),
        )


def writer_of(metadata: Mapping[str, Any]) -> Writer:
    """Who made the commit that says this about itself."""
    return Writer.from_metadata(metadata["writer"]) if "writer" in metadata else UNKNOWN_WRITER
