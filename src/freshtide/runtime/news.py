"""What a run tells while it goes on: to whoever listens, to its log, and to other processes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from freshtide.runs import Trouble, write_trouble
from freshtide.world import Disk

_logger = logging.getLogger(__name__)


class News:
    """Sentences for those who look on."""

    def __init__(self, disk: Disk, trouble: Path, *, log: Path) -> None:
        """`trouble` is where other processes look for what the run waits for, `log` what holds the tracebacks."""
        self._disk = disk
        self._log = log
        self._trouble = trouble
        self.listener: Callable[[str], None] | None = None
        self._leave(None)

    def tell(self, sentence: str) -> None:
        _logger.warning("%s", sentence)
        if self.listener is not None:
            self.listener(sentence)

    def tell_failure(self, sentence: str) -> None:
        """Something failed, and where it did is in the log."""
        self.tell(f"{sentence} ({self._log} tells where.)")

    def tell_trouble(self, trouble: Trouble | None, sentence: str) -> None:
        """What is wrong with the surroundings; None when they are well again."""
        self._leave(trouble)
        self.tell(sentence)

    def _leave(self, trouble: Trouble | None) -> None:
        try:
            write_trouble(self._disk, self._trouble, trouble)
        except OSError as error:
            _logger.warning("Other processes cannot be told: %s", error)
