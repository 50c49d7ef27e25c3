"""Disks: whether they take what is written, and whether there is room enough to go on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from freshtide.core.errors import SurroundingsError
from freshtide.runtime.watching import Check
from freshtide.world import Disk, make_folder

_GIGABYTE = 1_000_000_000
_SHARE = 0.02
# Work that stopped for want of room goes on with a little more: otherwise it would stop again at once.
_MORE = 1.1
_PROBE = ".write-probe"
_PROBED = 64 * 1024


class DiskNearlyFullError(SurroundingsError):
    """Too little room to go on without the danger of running out of it."""

    def __init__(self, folder: Path, *, free: int, needed: int) -> None:
        super().__init__(
            f"Only {_shown(free)} are free on the disk of {folder}, and {_shown(needed)} must be.",
            way_out="Make room, or lower `min_free` in freshtide.yml.",
        )


def write_probe(disk: Disk, folder: Path) -> None:
    """Write something durably and delete it; an OSError says why that cannot be done."""
    make_folder(disk, folder)
    probe = folder / _PROBE
    try:
        disk.write(probe, bytes(_PROBED))
        disk.sync(probe)
    finally:
        disk.remove(probe, missing_ok=True)


class DiskSpace:
    """Keeps an eye on the room that is left on the disks of some folders."""

    def __init__(self, disk: Disk, folders: Iterable[Path], *, min_free: int | None) -> None:
        """`min_free` bytes must be free; None: a gigabyte, or one part in fifty of a disk that is small."""
        self._disk = disk
        self._folders = tuple(folders)
        self._min_free = min_free
        self._short: set[Path] = set()
        """Folders whose disks had too little room."""

    def require(self) -> None:
        for folder in self._folders:
            try:
                found = self._disk.room(folder)
            except FileNotFoundError:
                continue  # It is made when it is needed.
            needed = self._needed(found.total)
            if found.free < needed * (_MORE if folder in self._short else 1.0):
                self._short.add(folder)
                raise DiskNearlyFullError(folder, free=found.free, needed=needed)
            self._short.discard(folder)

    def _needed(self, total: int) -> int:
        return min(_GIGABYTE, int(total * _SHARE)) if self._min_free is None else self._min_free


def disk_checks(disk: Disk, folders: Iterable[Path], *, min_free: int | None, written: Iterable[Path]) -> list[Check]:
    """Room on the disks of all folders, and whether some can be written to."""

    def write() -> None:
        for folder in written:
            write_probe(disk, folder)

    room = DiskSpace(disk, folders, min_free=min_free)
    return [Check(look=room.require, is_quick=True), Check(look=write, is_quick=False)]


def _shown(size: int) -> str:
    return f"{size / _GIGABYTE:.1f} GB" if size >= _GIGABYTE / 10 else f"{size / 1_000_000:.1f} MB"
