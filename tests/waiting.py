"""Waiting for something to become so, for as long as it takes and no longer."""

from __future__ import annotations

import time
from collections.abc import Callable

_PATIENCE = 120.0
"""Seconds after which what is waited for will not come."""


def wait_until(
    reached: Callable[[], bool], *, unless: Callable[[], object] = lambda: None, every: float = 0.02
) -> None:
    """Look every now and then until something is so. `unless` gives the reason if it cannot be so any more."""
    deadline = time.monotonic() + _PATIENCE
    while not reached():
        if (reason := unless()) is not None:
            # It may have become so in the last moment.
            assert reached(), reason
            return
        assert time.monotonic() < deadline, "it never came"
        time.sleep(every)
