"""fsync, in the order that makes a commit survive a power cut: data files, the folders that name them, then the log.

A file whose content is on disk is lost all the same if its name is not: a name is content of its folder, and the
name of a new folder is content of the folder above.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def sync_files(paths: Iterable[Path], *, under: Path | None = None) -> None:
    """Force files and their names to disk, and the names of their folders up to one that is known to be there."""
    folders: dict[Path, None] = {}
    for path in paths:
        _sync(path)
        folders[path.parent] = None
        if under is not None and path.parent != under:
            folders.update(dict.fromkeys(_above(path.parent, under)))
    for folder in folders:
        _sync(folder)


def sync_content(path: Path) -> None:
    """Force the content of a file to disk that is going to get another name."""
    _sync(path)


def sync_names(folder: Path) -> None:
    """Force the names that a folder holds to disk, such as after a file in it was renamed."""
    _sync(folder)


def sync_tree(folder: Path) -> None:
    """Force a folder with all that is in it to disk, and its own name as well."""
    for path in (*sorted(folder.rglob("*")), folder, folder.parent):
        _sync(path)


def make_folder(folder: Path) -> None:
    """Create a folder, with those above it that are missing, such that none of their names is lost."""
    missing = [folder, *(above for above in folder.parents if not above.exists())] if not folder.exists() else []
    folder.mkdir(parents=True, exist_ok=True)
    for made in reversed(missing):
        _sync(made.parent)


def _above(folder: Path, top: Path) -> Iterable[Path]:
    for above in folder.parents:
        yield above
        if above == top:
            return


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
