"""A trial: a guard is taken out of a copy of the source, and its tests are run over that."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree as ET

from guards.mutants import SOURCE, Guard, MutationError
from guards.promises import ROOT, NamedTest

_TEST_SECONDS = 240
"""A test that takes longer proves nothing: it must fail, not hang."""
_PATIENCE_SECONDS = 60
"""How long a test waits for what will not come without the guard."""
_BROKEN = ("ImportError", "ModuleNotFoundError", "NameError", "SyntaxError", "AttributeError")
"""What a test fails with if the mutant does not run, or is no program: that says nothing about the guard."""
_TIMED_OUT = "Failed: Timeout"


class Verdict(StrEnum):
    """What a trial has shown."""

    FOUND = "found"
    NOT_FOUND = "NOT FOUND"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict on a guard: the test that saw its loss, or why that is not known."""

    verdict: Verdict
    test: str
    detail: str
    seconds: float


def try_out(guard: Guard) -> Outcome:
    """Whether one of a guard's tests fails without it; one after the other, until one does."""
    begun = time.monotonic()

    def outcome(verdict: Verdict, test: object = "", detail: str = "") -> Outcome:
        return Outcome(verdict=verdict, test=str(test), detail=detail, seconds=time.monotonic() - begun)

    with tempfile.TemporaryDirectory(prefix="freshtide-guards-", ignore_cleanup_errors=True) as folder:
        try:
            source = guard.taken_out(Path(folder))
            for test in guard.tests:
                if failed := _failure([test], source, Path(folder)):
                    return outcome(Verdict.FOUND, *failed)
        except MutationError as error:
            return outcome(Verdict.ERROR, detail=str(error))
        return outcome(Verdict.NOT_FOUND)


def fails_as_it_is(tests: list[NamedTest]) -> tuple[str, str] | None:
    """The first test that fails although nothing is taken out, and how: it can say nothing about a guard."""
    with tempfile.TemporaryDirectory(prefix="freshtide-guards-", ignore_cleanup_errors=True) as folder:
        return _failure(tests, SOURCE, Path(folder), seconds=_TEST_SECONDS * len(tests))


def _failure(
    tests: list[NamedTest], source: Path, folder: Path, *, seconds: float = 4 * _TEST_SECONDS
) -> tuple[str, str] | None:
    """The first test that fails over a source, and how. A test that cannot be run, or hangs, is an error."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "--exitfirst", "--quiet", "-p", "no:cacheprovider"]
    command += [f"--timeout={_TEST_SECONDS}", f"--junit-xml={report}", f"--basetemp={folder / 'tests'}"]
    environment = {
        **os.environ,
        "CI": "true",  # the same random examples each time
        "FRESHTIDE_TEST_PATIENCE": str(_PATIENCE_SECONDS),
        "FRESHTIDE_TEST_THOROUGHLY": "1",
        "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)]),
    }
    named = [str(Path("tests") / str(test)) for test in tests]
    try:
        run = subprocess.run(
            [*command, *named], cwd=ROOT, env=environment, timeout=seconds, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise MutationError(f"{', '.join(named)} did not end within {seconds:.0f} s") from error
    if not report.exists():
        raise MutationError(f"pytest ended with {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return failure_in(report)


def failure_in(report: Path) -> tuple[str, str] | None:
    """The test that failed according to a report of pytest's, and how."""
    cases = ET.parse(report).findall(".//testcase")
    if not any(case.find("skipped") is None for case in cases):
        raise MutationError("no test was run")
    for case in cases:
        name = str(case.get("name"))
        if (error := case.find("error")) is not None:
            raise MutationError(f"{name} could not be run: {error.get('message')}\n{(error.text or '')[-1500:]}")
        if (failure := case.find("failure")) is not None:
            message = failure.get("message") or ""
            if message.startswith((*_BROKEN, _TIMED_OUT)):
                raise MutationError(f"{name} failed for another reason: {message}\n{(failure.text or '')[-1500:]}")
            return name, message
    return None
