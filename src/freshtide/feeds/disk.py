"""The questions a watcher asks the file system, behind a seam so that tests can count them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class Disk(Protocol):
    def names(self, folder: str) -> list[str]:
        """Names in a folder, in no order."""
        ...

    def look(self, path: str) -> os.stat_result:
        """Size, times and kind of what a path leads to, through links."""
        ...

    def link_target(self, path: str) -> str | None:
        """Where a path leads if it is a link, through all links; None if it is none."""
        ...


class LocalDisk:
    """The mounted file systems."""

    def names(self, folder: str) -> list[str]:
        return os.listdir(folder)  # noqa: PTH208 - names are compared by the hundred thousand, not paths

    def look(self, path: str) -> os.stat_result:
        # A Path per look would double the cost of watching: looks are most of what an idle watcher does.
        return os.stat(path)  # noqa: PTH116

    def link_target(self, path: str) -> str | None:
        return os.path.realpath(path) if Path(path).is_symlink() else None
