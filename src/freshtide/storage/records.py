"""What a commit says about the update it belongs to, kept in the commit's metadata."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class UpdateKind(StrEnum):
    LOAD = "load"
    """A base table took in files."""
    REFRESH = "refresh"
    """A derived table moved to a new cut."""
    REBUILD = "rebuild"
    """A table was computed anew as of the freshness it had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedFile:
    """A feed file that a load took in."""

    path: str
    sha256: str
    timestamp: float | None
    rows: int | None
    punctuation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Where the rows of a load went. `read` is all of them."""

    read: int = 0
    loaded: int = 0
    rejected: int = 0
    late: int = 0

    @property
    def filtered(self) -> int:
        """Rows that the table's own query left out."""
        return self.read - self.loaded - self.rejected - self.late


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

    def to_metadata(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "kind": str(self.kind),
            "freshness": self.freshness,
            "safe": self.safe,
            "definition": self.definition,
            "counts": [self.counts.read, self.counts.loaded, self.counts.rejected, self.counts.late],
            "files": [[file.path, file.sha256, file.timestamp, file.rows, file.punctuation] for file in self.files],
        }

    @classmethod
    def from_metadata(cls, data: dict[str, Any]) -> UpdateRecord:
        read, loaded, rejected, late = data["counts"]
        return cls(
            number=data["number"],
            kind=UpdateKind(data["kind"]),
            freshness=data["freshness"],
            safe=data["safe"],
            definition=data["definition"],
            counts=Counts(read=read, loaded=loaded, rejected=rejected, late=late),
            files=tuple(
                LoadedFile(path=path, sha256=sha256, timestamp=timestamp, rows=rows, punctuation=punctuation)
                for path, sha256, timestamp, rows, punctuation in data["files"]
            ),
        )
