"""What waits for an update table at a moment, what a commit settles of it, and what is left at the end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from freshtide.core.arrivals import Arrival
from freshtide.latest import UNTAGGED, StreamTuple
from freshtide.latest.windows import KeyStanding, Window
from freshtide.spark.latest.fates import ByTag, Fates
from freshtide.spark.latest.openwindows import WaitingForWindows
from freshtide.spark.latest.rows import Reject
from freshtide.spark.latest.takenfiles import TakenFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What waits for an update table."""

    residents: int
    since: float | None
    """When the oldest pending update arrived."""
    timestamp: float | None
    """The largest time stamp of what has come so far."""
    taken_in: int | None
    """The newest file that has been taken in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What the commit of a micro-batch settles beside the rows that it brings into the table."""

    done: tuple[TakenFile, ...]
    rejects: tuple[Reject, ...]
    single_rows: int
    """Of stream sources."""
    of_others: Fates
    """What has become of rows that came one by one, or whose files are done with, as far as this commit counts it."""
    timestamp: float | None
    put_down: WaitingForWindows | None = None
    """What waits for windows, where that is put down with the commit."""
    waited: int = 0
    """So many rows waited for their first window when that was put down the last time."""

    @property
    def read(self) -> int:
        """All rows of the files that are done with, and the single ones: each is counted once, even after a crash."""
        return self.single_rows + sum(taken.rows for taken in self.done)

    def counted(self, fates: ByTag) -> Fates:
        """What became of the rows that the commit counts, with what becomes of some by the commit itself."""
        found = self.of_others + fates.get(UNTAGGED, Fates())
        for taken in self.done:
            found += taken.fates + fates.get(taken.tag, Fates())
        return found

    @property
    def more_waiting(self) -> int:
        """By so many more rows wait for their first window than was counted before."""
        return 0 if self.put_down is None else self.put_down.waiting - self.waited

    @property
    def files(self) -> tuple[Arrival, ...]:
        return tuple(taken.file for taken in self.done if taken.file is not None)

    def but_for(self, files: Collection[Arrival]) -> Settlement:
        """The same without what has been read of files that another commit will be done with."""
        theirs = [taken for taken in self.done if taken.file in files]
        done = tuple(taken for taken in self.done if taken.file not in files)
        kept_later = {id(reject) for taken in theirs for reject in taken.rejects}
        rejects = tuple(reject for reject in self.rejects if id(reject) not in kept_later)
        put_down = self.put_down
        if put_down is not None:
            put_down = replace(put_down, ahead=put_down.ahead | {taken.tag for taken in theirs})
        return replace(self, done=done, rejects=rejects, put_down=put_down)

    @property
    def is_done_with_the_past(self) -> bool:
        """Whether nothing of what an earlier run has left behind waits any longer."""
        return any(taken.file is None for taken in self.done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """What waits for a table when nobody serves it any more."""

    tuples: list[StreamTuple]
    """The oldest of each key first."""
    standings: list[KeyStanding]
    outside: list[tuple[StreamTuple, Window]]
    """Tuples of windows that were taken out and not processed."""
    rejects: list[Reject]
    uncounted: int
    """Rows that no commit has counted."""
    since: float

    def __bool__(self) -> bool:
        return bool(self.tuples or self.standings or self.outside or self.rejects)
