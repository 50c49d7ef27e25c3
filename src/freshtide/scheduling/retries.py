"""When a failed update is tried again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Waits `backoff` seconds after the first failure and twice as long after each further one."""

    attempts: int = 4
    backoff: float = 1.0
    longest: float = 60.0

    def wait_after(self, failures: int) -> float | None:
        """Seconds to wait after so many failures in a row; None to give up."""
        if failures >= self.attempts:
            return None
        return min(self.longest, self.backoff * 2.0 ** (failures - 1))
