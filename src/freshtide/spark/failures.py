"""What Spark raises, and what to tell the user of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from freshtide.core.arrivals import Arrival
from freshtide.core.errors import FreshtideError, SurroundingsError

# Collecting to Arrow lets errors of the tasks through as they come from the JVM.
SPARK_ERRORS = (PySparkException, Py4JError)

_CODE = re.compile(r"^\[[A-Z0-9_.]+\] ")
_TRACEBACK = "Traceback (most recent call last):"
_STATE = re.compile(r" SQLSTATE: \w+")


class SparkFailedError(SurroundingsError):
    """Spark does not do its work, whatever that is."""


class UnreadableFilesError(FreshtideError):
    """Files that passed inspection and still cannot be read."""

    def __init__(self, reasons: Sequence[tuple[Arrival, str]]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(f"{file.position}: {reason}" for file, reason in self.reasons))


def plain_words(error: BaseException) -> str:
    """The first line of the innermost thing that went wrong, without codes."""
    text = _innermost(error) if isinstance(error, Py4JJavaError) else str(error)
    if _TRACEBACK in text:
        # A function of the user's raised it, on a worker: what it said comes last.
        text = [line for line in text.splitlines() if line and not line.startswith((" ", "SQLSTATE"))][-1]
    first = next((line for line in text.strip().splitlines() if line.strip()), type(error).__name__)
    return _STATE.sub("", _CODE.sub("", first)).strip()


def _innermost(error: Py4JJavaError) -> str:
    """Spark wraps the cause into a failure of the task, the stage and the job."""
    cause = error.java_exception
    told = str(cause.getMessage() or cause.toString())
    while cause.getCause() is not None:
        cause = cause.getCause()
        told = str(cause.getMessage() or cause.toString())
    return told
