"""The only place that reads the clock."""

from __future__ import annotations

import time


class SystemClock:
    """Seconds since the epoch, UTC."""

    def now(self) -> float:
        return time.time()
