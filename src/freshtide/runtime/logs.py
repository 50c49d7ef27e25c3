"""The log of a run: what went wrong, with tracebacks, in a file that does not grow without end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from freshtide.core.secrets import redacted

_LARGEST = 4_000_000
_KEPT = 3
_FORM = "%(asctime)s %(levelname)s %(threadName)s %(message)s"

# Threads that outlive a run must not fill the terminal with what they find there.
logging.getLogger("freshtide").addHandler(logging.NullHandler())


class _WithoutSecrets(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


class _LogFile(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the base's
        """What cannot be written down is lost: a full disk is told elsewhere, and must not fill the terminal."""


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Write down what Freshtide logs meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = _LogFile(path, maxBytes=_LARGEST, backupCount=_KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(_WithoutSecrets(_FORM))
    logger = logging.getLogger("freshtide")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
