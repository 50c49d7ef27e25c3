"""Two projects over one storage: one of them runs, the other is refused, whatever becomes of the lock file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from chaos.runs import Runs

# Who was heard of more recently than this is not given up.
_SILENCE = 20.0


class Rivals:
    """A project and its twin. They share no JVM: each must be able to work beside the other."""

    def __init__(
        self,
        first: Runs,
        second: Runs,
        *,
        lock: Path,
        commits: Callable[[], int],
        patience: float,
    ) -> None:
        """`commits` counts what has been committed to all tables."""
        self._first = first
        self._second = second
        self._lock = lock
        self._commits = commits
        self._patience = patience

    def refuse(self, environment: Mapping[str, str]) -> list[str]:
        """While one runs the other is refused, even if somebody has deleted the lock file."""
        run = self._at_work(self._first, environment)
        self._lock.unlink(missing_ok=True)
        ended = self._second.finish({}, "run", "--once", patience=self._patience)
        self._first.kill(run, 0.0)
        if ended is None:
            return ["a second run was let in beside the first"]
        return [] if "is being run already" in ended else [f"a second run ended for another reason: {ended}"]

    def take_over(self, environment: Mapping[str, str]) -> list[str]:
        """A run that is not heard of any more loses its place; when it wakes up, it ends and commits nothing."""
        sleeper = self._at_work(self._first, environment)
        os.killpg(sleeper.pid, signal.SIGSTOP)
        try:
            self._lock.unlink(missing_ok=True)
            time.sleep(_SILENCE)
            successor = self._at_work(self._second, {})
            os.killpg(sleeper.pid, signal.SIGCONT)
            try:
                code = sleeper.wait(timeout=self._patience)
            except subprocess.TimeoutExpired:
                return ["a run that had lost its place went on"]
            finally:
                self._second.kill(successor, 0.0)
        finally:
            if sleeper.poll() is None:
                os.killpg(sleeper.pid, signal.SIGKILL)
        return [] if code > 0 else [f"a run that had lost its place ended with {code}"]

    def _at_work(self, runs: Runs, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """A run that has committed something."""
        before = self._commits()
        run = runs.start(environment)
        runs.wait_until(lambda: self._commits() > before + 3, run, patience=self._patience)
        time.sleep(0.5)
        return run
