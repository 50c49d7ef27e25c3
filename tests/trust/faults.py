"""Faults of the disk, put where a process meets it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class FailingSync:
    """fsync fails for some paths, so many times."""

    concerns: Callable[[Path], bool]
    times: int
    failed: list[Path] = field(default_factory=list)

    def installed(self, monkeypatch: pytest.MonkeyPatch) -> FailingSync:
        real = os.fsync

        def fsync(descriptor: int) -> None:
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            if len(self.failed) < self.times and self.concerns(path):
                self.failed.append(path)
                raise OSError(errno.EMFILE, "Too many open files")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        return self


def log_of(table: str, *, version: int = 0) -> Callable[[Path], bool]:
    """The folder of a table's log, once it has a version: it is synced when an entry has landed in it."""

    def concerns(path: Path) -> bool:
        return path.name == "_delta_log" and path.parent.name == table and (path / f"{version:020d}.json").exists()

    return concerns
