"""Where links may lead: whoever may write into a landing folder must not read the rest of the machine through it."""

from __future__ import annotations

import os
from collections.abc import Iterable


class OwnFolders:
    """The folders that a feed's globs begin at. They may lie behind links themselves, such as mount points."""

    def __init__(self, bases: Iterable[str]) -> None:
        self._bases = tuple(dict.fromkeys(bases))

    def __contains__(self, target: str) -> bool:
        """Whether a path without links in it lies in one of the folders, wherever these are by now."""
        return any(f"{target}/".startswith(f"{os.path.realpath(base).rstrip('/')}/") for base in self._bases)
