"""What is known of the files whose rows wait for an update table.

A file is done with once none of its rows waits: each has been processed or superseded. Files are done with in the
order in which they were taken in, so that after a crash everything from the first unfinished one on is read again, in
the same order as before: of two rows with the same time the later one wins again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from freshtide.core.files import FeedFile
from freshtide.spark.updates.rows import LEFT_BEHIND, Reject


@dataclass(slots=True, kw_only=True)
class TakenFile:
    """A file that has been taken in."""

    file: FeedFile | None
    """None: what an earlier run has left behind."""
    rows: int
    """As many as were found in it, rejects included, and have not been counted before."""
    waiting: int
    """Rows of it in the queue, or out of it and not committed yet."""
    rejects: Sequence[Reject]
    """They are kept aside by the commit that is done with the file, so once."""

    @property
    def tag(self) -> int:
        return LEFT_BEHIND if self.file is None else self.file.id


class TakenFiles:
    """Files in the order in which they were taken in."""

    def __init__(self) -> None:
        self._files: deque[TakenFile] = deque()
        self._by_tag: dict[int, TakenFile] = {}

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
        """Rows of these files wait no longer."""
        for tag in tags:
            self._by_tag[tag].waiting -= 1

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
