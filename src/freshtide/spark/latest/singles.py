"""What came from streams and is no row, until a commit keeps it aside."""

from __future__ import annotations

from collections.abc import Iterator

from freshtide.spark.latest.rows import Reject

MOST_BYTES = 8 * 1024 * 1024
"""Of the contents of such rejects. Who sends more has to wait for the next commit."""


class SingleRejects:
    """Rejects in the order in which they came."""

    def __init__(self) -> None:
        self._rejects: list[Reject] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._rejects)

    def __iter__(self) -> Iterator[Reject]:
        return iter(self._rejects)

    @property
    def is_full(self) -> bool:
        return self._bytes >= MOST_BYTES

    def add(self, reject: Reject) -> None:
        self._rejects.append(reject)
        self._bytes += _size(reject)

    def forget(self, count: int) -> None:
        """The first ones have been kept aside."""
        self._bytes -= sum(map(_size, self._rejects[:count]))
        del self._rejects[:count]


def _size(reject: Reject) -> int:
    # A reject of no content takes memory all the same.
    return len(reject.content) + len(reject.reason) + 100
