"""Named points at which a process can be told to die, so that recovery can be tried where it is hardest.

`FRESHTIDE_CRASH_AT=committed:3` kills the process, as `kill -9` does, the third time that it comes to `committed`.
Without the variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
import threading

_VARIABLE = "FRESHTIDE_CRASH_AT"


def _wanted(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    name, _, times = text.partition(":")
    return name, int(times or 1)


_crash_at = _wanted(os.environ.get(_VARIABLE, ""))
_left = _crash_at[1] if _crash_at is not None else 0
_counting = threading.Lock()


def reach(point: str) -> None:
    """Come to a point; the process ends here if it was told to."""
    global _left  # noqa: PLW0603 - one process, one count
    if _crash_at is None or _crash_at[0] != point:
        return
    with _counting:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
