"""Waiting for something to become so, for as long as it takes and no longer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

PATIENCE = float(os.environ.get("FRESHTIDE_TEST_PATIENCE", "120"))
"""Seconds after which what is waited for will not come. Where it is known that it will not, less are given."""


def wait_until(
    reached: Callable[[], bool], *, unless: Callable[[], object] = lambda: None, every: float = 0.02
) -> None:
    """Look every now and then until something is so. `unless` gives the reason if it cannot be so any more."""
    deadline = time.monotonic() + PATIENCE
    while not reached():
        if (reason := unless()) is not None:
            # It may have become so in the last moment.
            assert reached(), reason
            return
        assert time.monotonic() < deadline, "it never came"
        time.sleep(every)


def or_too_late(reached: Callable[[], bool]) -> Callable[[], bool]:
    """For a run to end by: that something is so, or will not come; what is asked next tells which."""
    deadline = time.monotonic() + PATIENCE
    return lambda: reached() or time.monotonic() > deadline
