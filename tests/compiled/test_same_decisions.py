"""Compiled and interpreted, the scheduler and the simulator come to the same, to the last digit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_WRITTEN, _COMPILED = _ROOT / "src", _ROOT / "build" / "compiled"
_WORLDS = 400

pytestmark = pytest.mark.compiled


def test_random_worlds_are_decided_the_same() -> None:
    where_compiled, *compiled = _runs(_COMPILED)
    where_written, *written = _runs(_WRITTEN)
    assert not where_compiled.endswith(".py"), "build it first: make compiled"
    assert where_written.endswith(".py")
    assert len(written) == _WORLDS
    for ours, theirs in zip(compiled, written, strict=True):
        assert ours == theirs


def test_doctor_tells_that_the_scheduler_is_compiled() -> None:
    findings = json.loads(_python(_COMPILED, "-m", "freshtide", "doctor", "--json", check=False))
    assert {"check": "Scheduler", "ok": True, "found": "compiled", "way_out": None} in findings


def _runs(package: Path) -> list[str]:
    return _python(package, "-m", "tests.compiled.runs", str(_WORLDS), check=True).splitlines()


def _python(package: Path, *words: str, check: bool) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=check).stdout
