"""How files of a project are called in messages."""

from __future__ import annotations

from pathlib import Path


def relative_name(path: Path, root: Path) -> str:
    """The file's path within the project, with forward slashes; outside of it the path as it is."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
