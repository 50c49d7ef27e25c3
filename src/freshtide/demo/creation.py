"""The demo project in a folder of the user's."""

from __future__ import annotations

import shutil
from pathlib import Path

from freshtide.catalog import RunLock, lease_folder
from freshtide.core.errors import FreshtideError

_TEMPLATE = Path(__file__).parent / "template"
_MARK = ".freshtide-demo"
"""Tells a folder that the demo may replace from one that it must not touch."""
_TABLES = "warehouse"
_MADE_BY_RUNS = ("landing", _TABLES, ".freshtide")


class DemoError(FreshtideError):
    """The demo cannot be created in this folder."""


def create_demo(folder: Path) -> None:
    """Fill a new or empty folder with the demo project; an earlier demo in it is replaced, with its data."""
    if folder.exists():
        _require_replaceable(folder)
        for name in (*_MADE_BY_RUNS, *(path.name for path in _TEMPLATE.iterdir())):
            _remove(folder / name)
    shutil.copytree(_TEMPLATE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def _require_replaceable(folder: Path) -> None:
    if not folder.is_dir():
        raise DemoError(f"{folder} is a file.", way_out="Choose a new folder.")
    if not any(folder.iterdir()):
        return
    if not (folder / _MARK).is_file():
        raise DemoError(
            f"{folder} is not empty and holds no earlier demo, so nothing in it is touched.",
            way_out="Choose a new or empty folder.",
        )
    holder = RunLock(lease_folder(folder / _TABLES)).holder()
    if holder is not None:
        raise DemoError(
            f"The demo in {folder} is being run, by {holder}.",
            way_out="Stop that run first (Ctrl-C in its terminal), or choose another folder.",
        )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
