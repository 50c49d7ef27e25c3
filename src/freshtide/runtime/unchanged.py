"""Whether Spark has read what was hashed when a file arrived.

Spark opens files by their names, long after they were inspected, and may open one several times. So a load looks at its
files before they are read and again before anything is committed. As long as nothing has touched a file, a look is
cheap; where its last change may be younger than its inspection, it is hashed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from freshtide.core.arrivals import CHANGED_BEFORE_LOADING, Arrival
from freshtide.core.errors import FreshtideError
from freshtide.world import Disk, sha256_of

# Clocks of file systems tick; a change may bear a time that is a little older than it is.
_TICK = 0.05


class ChangedFilesError(FreshtideError):
    """Files that have other content than was registered."""

    def __init__(self, files: Sequence[Arrival]) -> None:
        self.reasons = tuple((file, CHANGED_BEFORE_LOADING) for file in files)
        named = ", ".join(file.position for file in files)
        super().__init__(
            f"Changed since arrival: {named}. Nothing of this load was committed.", way_out="Put back what arrived."
        )


class TouchedFilesError(FreshtideError):
    """Files that were replaced, and put back, while they were read: nobody knows what was read."""

    def __init__(self, files: Sequence[Arrival]) -> None:
        named = ", ".join(file.position for file in files)
        super().__init__(f"Touched while being read: {named}. Nothing of this load was committed; it is tried again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What the file system tells of a file. A rename or a write changes some of it."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int

    @classmethod
    def at(cls, disk: Disk, path: str) -> _Look | None:
        try:
            found = disk.look(path)
        except OSError:
            return None
        return cls(size=found.st_size, modified_ns=found.st_mtime_ns, changed_ns=found.st_ctime_ns, inode=found.st_ino)

    def is_what_arrived(self, file: Arrival) -> bool:
        """Whether the file system alone vouches for the content."""
        is_older = self.changed_ns / 1e9 < file.arrived_at - _TICK
        return is_older and (self.size, self.modified_ns) == (file.size, file.modified_ns)


def watched(disk: Disk, files: Sequence[Arrival]) -> Callable[[], None]:
    """Look at files that are about to be read; what is returned looks again.

    Both raise where the content is not what was registered. A file that is away is left to whoever reads it.
    """
    before = {file: _Look.at(disk, file.position) for file in files}
    doubted = [file for file, seen in before.items() if seen is not None and not seen.is_what_arrived(file)]
    _require_content(disk, doubted)

    def unchanged() -> None:
        touched = [file for file, seen in before.items() if _Look.at(disk, file.position) != seen]
        _require_content(disk, touched)
        if touched:
            raise TouchedFilesError(touched)

    return unchanged


def _require_content(disk: Disk, files: Sequence[Arrival]) -> None:
    changed = [file for file in files if _hash(disk, file.position) not in (file.digest, None)]
    if changed:
        raise ChangedFilesError(changed)


def _hash(disk: Disk, path: str) -> str | None:
    try:
        return sha256_of(disk, path)
    except OSError:
        return None
