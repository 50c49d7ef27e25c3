"""Runs of a project, each in a process of its own, that are killed in the midst of their work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.waiting import wait_until

_COMMITS = (3, 5, 4, 2)
"""Of each run, before it is killed."""


def runs_that_are_killed(root: Path, table: str, deliver: Callable[[int], None], *, files: int) -> Iterator[None]:
    """After each run that was killed. A run gets its share of the files little by little, a commit of the table each.

    It is killed as soon as its last commit has landed, which is not booked then, while more files wait.
    """
    log = root / "warehouse" / table / "_delta_log"
    numbers = iter(range(files))
    for commits in _COMMITS:
        run = subprocess.Popen(
            [sys.executable, "-m", "freshtide", "run", "-p", str(root)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for _ in range(commits):
            before = _length(log)
            for _ in range(files // (sum(_COMMITS) + 1)):
                deliver(next(numbers))
            wait_until(partial(_is_longer, log, before), unless=run.poll)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        yield
    for number in numbers:
        deliver(number)


def _is_longer(log: Path, than: int) -> bool:
    return _length(log) > than


def _length(log: Path) -> int:
    return sum(1 for _ in log.glob("*.json"))
