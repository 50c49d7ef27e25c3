"""fsync, in the order that makes a commit survive a power cut: data files, the folders that name them, then the log.

A file whose content is on disk is lost all the same if its name is not: a name is content of its folder, and the
name of a new folder is content of the folder above.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from freshtide.world.disk import Disk


def sync_files(disk: Disk, paths: Iterable[Path], *, under: Path | None = None) -> None:
    """Force files and their names to disk, and the names of their folders up to one that is known to be there."""
    folders: dict[Path, None] = {}
    for path in paths:
        disk.sync(path)
        folders[path.parent] = None
        if under is not None and path.parent != under:
            folders.update(dict.fromkeys(_above(path.parent, under)))
    for folder in folders:
        disk.sync(folder)


def sync_tree(disk: Disk, folder: Path) -> None:
    """Force a folder with all that is in it to disk, and its own name as well."""
    for inner, _, files in disk.walk(folder):
        for name in files:
            disk.sync(f"{inner}/{name}")
        disk.sync(inner)
    disk.sync(folder.parent)


def make_folder(disk: Disk, folder: Path) -> None:
    """Create a folder, with those above it that are missing, such that none of their names is lost."""
    missing = (
        [folder, *(above for above in folder.parents if not disk.exists(above))] if not disk.exists(folder) else []
    )
    disk.make_folders(folder)
    for made in reversed(missing):
        disk.sync(made.parent)


def _above(folder: Path, top: Path) -> Iterable[Path]:
    for above in folder.parents:
        yield above
        if above == top:
            return
