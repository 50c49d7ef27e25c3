"""Finding what ends Spark's process: the update, and of the files that it loads the one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from freshtide.core.arrivals import Arrival
from freshtide.world import Threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Guilt:
    """What has ended Spark twice, the second time with nothing else running: a file, or else the update itself."""

    file: Arrival | None


class Suspects:
    """Updates that ran when Spark's process ended.

    Several may have run. Each is repeated alone; one that ends Spark then has done it. A load of several files is
    repeated with half of them, and so on, until it has loaded them or a single one is left to blame.
    """

    def __init__(self, threads: Threads) -> None:
        self._change = threads.condition()
        self._running = 0
        self._alone = 0
        """Suspects that run, or wait for the others to end."""
        self._suspected: set[str] = set()
        self._limits: dict[str, int] = {}
        """How many files a load may take at once."""
        self._in_hand: dict[str, tuple[Arrival, ...]] = {}

    @contextmanager
    def room(self, table: str) -> Iterator[None]:
        """Let an update run, beside others or alone."""
        is_suspect = table in self._suspected
        with self._change:
            if is_suspect:
                self._alone += 1
                self._change.wait_for(lambda: self._running == 0)
            else:
                self._change.wait_for(lambda: self._alone == 0)
            self._running += 1
        try:
            yield
        finally:
            with self._change:
                self._running -= 1
                self._alone -= is_suspect
                self._in_hand.pop(table, None)
                self._change.notify_all()

    def most(self, table: str, files: int) -> int:
        """How many of so many files a load may take."""
        return min(files, self._limits.get(table, files))

    def takes(self, table: str, files: Sequence[Arrival]) -> None:
        """These files are being read."""
        self._in_hand[table] = tuple(files)

    def ended_spark(self, table: str) -> Guilt | None:
        """Spark's process ended during the update of a table; None while that may have been something else."""
        with self._change:
            if table not in self._suspected:
                self._suspected.add(table)
                return None
            files = self._in_hand.get(table, ())
            if len(files) > 1:
                self._limits[table] = len(files) // 2
                return None
        self.acquit(table)
        return Guilt(file=files[0] if files else None)

    def acquit(self, table: str) -> None:
        """All that was suspected has been done, or the guilty has been found."""
        with self._change:
            self._suspected.discard(table)
            self._limits.pop(table, None)
