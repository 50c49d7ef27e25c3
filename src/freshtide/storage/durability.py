"""fsync, in the order that makes a commit survive a power cut: data files, their folders, then the log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def sync_files(paths: Iterable[Path]) -> None:
    """Force the files and the folders that name them to disk."""
    folders: dict[Path, None] = {}
    for path in paths:
        _sync(path)
        folders[path.parent] = None
    for folder in folders:
        _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
