"""Runs of the warehouse in processes of their own, and their deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_LOOK_EVERY = 0.05


class RunEndedError(Exception):
    """A run that ended by itself, and should not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """How a run was killed."""

    point: str
    """The crash point that it died at, or `random`."""
    seconds: float


class Runs:
    """Starts the warehouse of a project, and kills it."""

    def __init__(self, project: Path, log: Path) -> None:
        self._project = project
        self._log = log

    def kill_at_random(self, environment: Mapping[str, str], *, is_time: Callable[[], bool], patience: float) -> Death:
        """Kill a run once something is the case, or when patience ends."""
        begun = time.monotonic()
        run = self.start(environment)
        self.wait_until(is_time, run, patience=patience)
        return self.kill(run, begun)

    def kill_at_point(self, environment: Mapping[str, str], point: str, times: int, *, patience: float) -> Death:
        """Let a run kill itself when it comes to a point for the n-th time; when patience ends it is killed anyway."""
        begun = time.monotonic()
        run = self.start({**environment, "FRESHTIDE_CRASH_AT": f"{point}:{times}"})
        while time.monotonic() - begun < patience:
            if run.poll() == -signal.SIGKILL:
                return Death(point=point, seconds=time.monotonic() - begun)
            self._require_alive(run)
            time.sleep(_LOOK_EVERY)
        return self.kill(run, begun)

    def finish(self, environment: Mapping[str, str], *command: str, patience: float) -> str | None:
        """Let a command come to its end; what it said if it failed."""
        run = self._start(environment, *command)
        try:
            code = run.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self.kill(run, 0.0)
            return f"`freshtide {' '.join(command)}` did not end within {patience:.0f} s; see {self._log}"
        return None if code == 0 else f"`freshtide {' '.join(command)}` ended with {code}:\n{self._last_words()}"

    def wait_until(self, is_time: Callable[[], bool], run: subprocess.Popen[bytes], *, patience: float) -> bool:
        """Wait while a run goes on until something is the case; false when patience ends first."""
        until = time.monotonic() + patience
        while not is_time():
            self._require_alive(run)
            if time.monotonic() > until:
                return False
            time.sleep(_LOOK_EVERY)
        return True

    def start(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return self._start(environment, "run")

    def kill(self, run: subprocess.Popen[bytes], begun: float) -> Death:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
        else:
            self._require_alive(run)
        run.wait()
        return Death(point="random", seconds=time.monotonic() - begun)

    def _start(self, environment: Mapping[str, str], *command: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            log.write(f"--- {' '.join(command)} {environment.get('FRESHTIDE_CRASH_AT', '')}\n".encode())
            log.flush()
            return subprocess.Popen(
                [sys.executable, "-m", "freshtide", *command, "-p", str(self._project)],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )

    def _require_alive(self, run: subprocess.Popen[bytes]) -> None:
        if run.poll() is not None and run.returncode != -signal.SIGKILL:
            raise RunEndedError(f"a run ended by itself, with {run.returncode}:\n{self._last_words()}")

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])
