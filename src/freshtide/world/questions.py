"""Questions about what lies on a disk."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

from freshtide.world.disk import Disk, StrPath


def names_in(disk: Disk, folder: Path) -> list[str]:
    """The names in a folder; none where it is not there."""
    try:
        return disk.names(folder)
    except FileNotFoundError:
        return []


def files_below(disk: Disk, folder: Path, *, suffix: str = "") -> Iterator[Path]:
    """All files in a folder and in those below it, whose names end so."""
    for inner, _, files in disk.walk(folder):
        for name in files:
            if name.endswith(suffix):
                yield Path(inner, name)


def is_folder(disk: Disk, path: Path) -> bool:
    try:
        return stat.S_ISDIR(disk.look(path).st_mode)
    except FileNotFoundError:
        return False


def sha256_of(disk: Disk, path: StrPath) -> str:
    """The hash of a file's content, however large it is."""
    with disk.open(path) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
