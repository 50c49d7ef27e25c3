"""Two projects over one storage: one of them runs, the other is refused, whatever becomes of the lock file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from chaos.runs import Runs

_PATIENCE = 90.0
# How long a holder that is not heard of any more is waited for, and some more.
_REFUSED_WITHIN = 45.0


class Rivals:
    """A project and its twin. They share no JVM: each must be able to work beside the other."""

    def __init__(self, first: Runs, second: Runs, *, lock: Path, commits: Callable[[], int]) -> None:
        """`commits` counts what has been committed to all tables."""
        self._first = first
        self._second = second
        self._lock = lock
        self._commits = commits

    def refuse(self) -> list[str]:
        """While one runs the other is refused, even if somebody has deleted the lock file."""
        run = self._at_work(self._first)
        self._lock.unlink(missing_ok=True)
        ended = self._second.finish({}, "run", "--once", patience=_REFUSED_WITHIN)
        self._first.kill(run, 0.0)
        if ended is None:
            return ["a second run was let in beside the first"]
        return [] if "is being run already" in ended else [f"a second run ended for another reason: {ended}"]

    def take_over(self) -> list[str]:
        """A run that is not heard of any more loses its place; when it wakes up, it ends and commits nothing."""
        sleeper = self._at_work(self._first)
        os.killpg(sleeper.pid, signal.SIGSTOP)
        self._lock.unlink(missing_ok=True)
        successor = self._at_work(self._second)
        os.killpg(sleeper.pid, signal.SIGCONT)
        try:
            code = sleeper.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._first.kill(sleeper, 0.0)
            return ["a run that had lost its place went on"]
        finally:
            self._second.kill(successor, 0.0)
        return [] if code > 0 else [f"a run that had lost its place ended with {code}"]

    def _at_work(self, runs: Runs) -> subprocess.Popen[bytes]:
        """A run that has committed something."""
        before = self._commits()
        run = runs.start({})
        runs.wait_until(lambda: self._commits() > before + 3, run, patience=_PATIENCE)
        time.sleep(0.5)
        return run
