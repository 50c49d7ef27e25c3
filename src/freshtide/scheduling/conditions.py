"""How a table stands: how fresh it is, whether it takes part, where its update runs, and when it is tried again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

NOT_RUNNING: Final = -1


class TableStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    FAILED = "failed"
    LEAVING = "leaving"
    """It is declared no longer, and known only until its running update has ended."""


@dataclass(slots=True, kw_only=True)
class Condition:
    """What has become of a table so far."""

    freshness: float | None
    """None: nothing has ever been loaded."""
    safe: float | None
    """Up to where dependents may use it."""
    first_load: bool
    """Whether nothing was ever loaded at the start, and the table has not caught up since: a backlog is not chopped."""
    status: TableStatus
    able: bool
    """Whether the table takes part and is not to be tried again later."""
    served_at: float = -math.inf
    """When its last update ended, well or not."""
    unpaid: float = 0.0
    """Seconds of waiting that its turns have not made up for: they brought less than had come in the meantime."""
    failures: int = 0
    """In a row."""
    retry_at: float | None = None
    track: int = NOT_RUNNING
    """Where its update runs. Only the dispatcher writes it, with the track itself."""
    outdated: bool = False
    """Whether the table was defined anew while its update ran: what that brings is as good as nothing."""
    disturbed: bool = False
    """Whether the surroundings failed while the update ran."""
    revised: bool = False
    """Whether its last update changed rows that dependents may have used: freshness can have gone back with it."""

    def change(self, status: TableStatus, retry_at: float | None) -> None:
        self.status, self.retry_at = status, retry_at
        self.able = status is TableStatus.ACTIVE and retry_at is None


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
