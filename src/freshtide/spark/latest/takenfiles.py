"""What is known of the files whose rows wait for an update table.

A file is done with once none of its rows waits: each has been processed or superseded. Files are done with in the
order in which they were taken in, so that after a crash everything from the first unfinished one on is read again, in
the same order as before: of two rows with the same time the later one wins again.

With windows a row may wait for as long as its key is silent. There files are done with when all that waits is put down
beside the table: what is read again then goes on from there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from freshtide.core.arrivals import Arrival
from freshtide.spark.latest.fates import ByTag, Fates
from freshtide.spark.latest.rows import AHEAD, LEFT_BEHIND, Reject


@dataclass(slots=True, kw_only=True)
class TakenFile:
    """A file that has been taken in."""

    file: Arrival | None
    """None: what an earlier run has left behind."""
    rows: int
    """As many as were found in it, rejects included, and have not been counted before."""
    waiting: int
    """Rows of it in the queue, or out of it and not committed yet."""
    rejects: Sequence[Reject]
    """They are kept aside by the commit that is done with the file, so once."""

    fates: Fates = field(default_factory=Fates)
    """What has become of its rows so far."""
    has_rows: bool = True
    """Whether any row of it came to wait."""
    is_enqueued: bool = False
    """Whether all of them are, or were, in the queue."""

    @property
    def tag(self) -> int:
        return LEFT_BEHIND if self.file is None else self.file.id


class TakenFiles:
    """Files in the order in which they were taken in."""

    def __init__(self) -> None:
        self._files: deque[TakenFile] = deque()
        self._by_tag: dict[int, TakenFile] = {}
        self.of_others = Fates()
        """What has become of rows whose files are done with, or that came one by one, and has not been counted."""

    def __contains__(self, tag: int) -> bool:
        return tag in self._by_tag

    def __iter__(self) -> Iterator[TakenFile]:
        return iter(self._files)

    def of(self, tag: int) -> TakenFile | None:
        return self._by_tag.get(tag)

    def add(self, taken: TakenFile) -> None:
        self._files.append(taken)
        self._by_tag[taken.tag] = taken

    def release(self, tags: Iterable[int]) -> None:
        """Rows of these files wait no longer. A file that is done with already had put them down."""
        for tag in tags:
            taken = self._by_tag.get(tag)
            if taken is not None:
                taken.waiting -= 1

    def note(self, fates: ByTag) -> None:
        """Keep in mind what has become of rows until it is counted."""
        for tag, fate in fates.items():
            taken = self._by_tag.get(tag)
            if taken is not None:
                taken.fates += fate
            elif tag != AHEAD:
                self.of_others += fate

    def enqueued(self, tag: int) -> None:
        """All rows of a file have found room in the queue."""
        self._by_tag[tag].is_enqueued = True

    def done_when_put_down(self) -> list[TakenFile]:
        """The files that will be done with once all that is in the queue has been put down."""
        return list(takewhile(lambda taken: taken.is_enqueued, self._files))

    def without_rows(self) -> list[TakenFile]:
        """The first files, as far as no row of them came to wait."""
        return list(takewhile(lambda taken: not taken.has_rows, self._files))

    def done_after(self, tags: Iterable[int]) -> list[TakenFile]:
        """The files that will be done with once rows of these files have been committed."""
        leaving = Counter(tags)
        done = []
        for taken in self._files:
            if taken.waiting > leaving[taken.tag]:
                break
            done.append(taken)
        return done

    def forget(self, done: Sequence[TakenFile]) -> None:
        for taken in done:
            assert self._files[0] is taken, "files are done with in order"
            self._files.popleft()
            del self._by_tag[taken.tag]
