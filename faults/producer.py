"""Whoever puts files into the folders of feeds: most for good, some to be replaced by others of the same name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from faults.content import as_csv, line_of
from faults.disk import SimulatedDisk
from faults.tables import LATENESS, ROOT, Row

_KEYS = "pqr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a file holds at a time."""

    rows: tuple[Row, ...]
    bad: tuple[str, ...]
    """Lines that are no rows."""
    data: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(slots=True, kw_only=True)
class Landed:
    """A file that has been put into a folder, and all that it has held."""

    feed: str
    path: str
    contents: dict[str, Content] = field(default_factory=dict)
    """By digest."""
    now: str = ""
    """The digest of what it holds."""


@dataclass(slots=True)
class Producer:
    """Lands files, durably."""

    rng: Random
    now: Callable[[], float]
    tell: Callable[[str, str], None]
    straying: float = 0.2
    """The share of the rows that are stamped long before they come."""
    files: list[Landed] = field(default_factory=list)
    by_path: dict[str, Landed] = field(default_factory=dict)
    _ids: int = 0

    def land(self, disk: SimulatedDisk, feed: str) -> None:
        file = Landed(feed=feed, path=str(ROOT / "landing" / feed / f"{len(self.files):06d}.csv"))
        self.files.append(file)
        self.by_path[file.path] = file
        self._put(disk, file)
        self.tell("landed", file.path)

    def replace(self, disk: SimulatedDisk) -> None:
        """One of the last files gets other content, under the same name."""
        if self.files:
            file = self.rng.choice(self.files[-4:])
            self._put(disk, file)
            self.tell("replaced", file.path)

    def put_back(self, disk: SimulatedDisk, path: str, digest: str) -> None:
        """A file gets the content again that it had before."""
        self._write(disk, self.by_path[path], digest)
        self.tell("put back", path)

    def _put(self, disk: SimulatedDisk, file: Landed) -> None:
        content = self._content()
        digest = content.digest
        file.contents[digest] = content
        self._write(disk, file, digest)

    def _write(self, disk: SimulatedDisk, file: Landed, digest: str) -> None:
        partial = f"{file.path}.part"
        disk.write(partial, file.contents[digest].data)
        disk.sync(partial)
        disk.rename(partial, file.path)
        disk.sync(file.path.rpartition("/")[0])
        file.now = digest

    def _content(self) -> Content:
        """Some rows of it are bad, and some come too late."""
        rng, now = self.rng, int(self.now() * 1_000_000)
        rows, bad, lines = [], [], []
        for _ in range(rng.randint(1, 4)):
            self._ids += 1
            back = rng.uniform(0.0, 3.0 * LATENESS) if rng.random() < self.straying else rng.uniform(0.0, 5.0)
            row = Row(self._ids, now - int(back * 1_000_000), rng.choice(_KEYS), rng.randint(-20, 100))
            if rng.random() < 0.15:
                bad.append(f"{row.id},never,{row.k},{row.v}")
                lines.append(bad[-1])
            else:
                rows.append(row)
                lines.append(line_of(row))
        return Content(rows=tuple(rows), bad=tuple(bad), data=as_csv(lines))
