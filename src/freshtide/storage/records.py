"""What a commit says about the update it belongs to, kept in the commit's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from freshtide.core.files import FeedFile, FileState

# Before every timestamp: a revision from here on concerns all rows.
BEGINNING = -(2**62)


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
class LoadedFile:
    """A feed file that a load took in."""

    path: str
    sha256: str
    timestamp: float | None
    rows: int | None
    punctuation: bool = False

    @classmethod
    def of(cls, file: FeedFile) -> LoadedFile:
        return cls(
            path=file.path,
            sha256=file.sha256,
            timestamp=file.timestamp,
            rows=file.rows,
            punctuation=file.state is FileState.PUNCTUATION,
        )


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

    @property
    def filtered(self) -> int:
        """Rows that the table's own query left out."""
        gone = self.rejected + self.late + self.superseded + self.replaced
        return self.read - self.loaded - self.diverted - gone

    @property
    def diverted(self) -> int:
        """Rows that a flow took in and did not write to the table; less than none where it made more of them."""
        return 0 if self.flowed is None else self.flowed - self.loaded


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
    files: tuple[LoadedFile, ...] = ()
    sources: Mapping[str, int] = field(default_factory=dict)
    """Derived tables: the number of the last update of each direct source that is in it."""
    revised_from: int | None = None
    """Rows stamped from here on, which dependents may have used, are other ones than before; None: no row."""
    left: int = 0
    """Keys of a table of one row per key that have no row any more."""

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
            "files": [[file.path, file.sha256, file.timestamp, file.rows, file.punctuation] for file in self.files],
            "sources": dict(self.sources),
            "revised_from": self.revised_from,
            "left": self.left,
        }

    @classmethod
    def from_metadata(cls, data: dict[str, Any]) -> UpdateRecord:
        read, loaded, rejected, late = data["counts"]
        superseded, replaced = data.get("superseded", (0, 0))
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
            ),
            files=tuple(
                LoadedFile(path=path, sha256=sha256, timestamp=timestamp, rows=rows, punctuation=punctuation)
                for path, sha256, timestamp, rows, punctuation in data["files"]
            ),
            sources=data["sources"],
            revised_from=data["revised_from"],
            left=data.get("left", 0),
        )
