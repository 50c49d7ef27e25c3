"""What feeds and tables may be called, and how files of a project are called in messages."""

from __future__ import annotations

import re
from pathlib import Path

from freshtide.core.sides import RESERVED_ENDINGS

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def name_fault(name: str) -> tuple[str, str] | None:
    """What is wrong with a name, and the way out; None for a good one."""
    if not _NAME.fullmatch(name):
        return (
            f"'{name}' cannot be a name.",
            "Names are letters, digits and underscores, and begin with a letter.",
        )
    for ending in RESERVED_ENDINGS:
        if name.lower().endswith(ending):
            return (
                f"'{name}' cannot be a name: Freshtide keeps rows aside under names that end in {ending}.",
                "Choose another name.",
            )
    return None


def relative_name(path: Path, root: Path) -> str:
    """The file's path within the project, with forward slashes; outside of it the path as it is."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
