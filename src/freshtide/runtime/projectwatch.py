"""Noticing that somebody edits the files of a project while it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from freshtide.project import project_files

_LOOK_EVERY = 0.5
# Editors write files in several steps, and people change several files.
_SETTLES_IN = 1.0

Signature = dict[Path, tuple[int, int]]


class ProjectWatch:
    """Tells once of each state of the files that has lasted for a moment and is another than the one before it.

    That in which they are found at first counts: they may have been edited since the project was read.
    """

    def __init__(self, root: Path, *, clock: Callable[[], float]) -> None:
        """`clock` is one that nobody sets."""
        self._root = root
        self._clock = clock
        self._looked_at = float("-inf")
        self._known: Signature | None = None
        self._seen = _signature(root)
        self._seen_since = clock()

    def look_again(self) -> None:
        """Tell once more of the state that the files are in."""
        self._known = None

    def has_changed(self) -> bool:
        now = self._clock()
        if now - self._looked_at < _LOOK_EVERY:
            return False
        self._looked_at = now
        found = _signature(self._root)
        if found != self._seen:
            self._seen, self._seen_since = found, now
        if self._seen == self._known or now - self._seen_since < _SETTLES_IN:
            return False
        self._known = self._seen
        return True


def _signature(root: Path) -> Signature:
    found: Signature = {}
    for path in project_files(root):
        try:
            status = path.stat()
        except OSError:
            continue  # It is being replaced, or is gone: the next look tells.
        found[path] = status.st_mtime_ns, status.st_size
    return found
