"""What has become of the rows of an update table, counted where it can be counted once.

The table takes in rows of files long before it is done with the files, and after a crash it takes them in again. So
what became of a row is noted with its file, and counted by the commit that is done with the file. By how many rows the
table grows is counted as it happens: what came in and is not there any more was replaced.

Windows are made of rows of many files, and a row may be in several. There a row has come in with the first window that
was processed with it, and what has become of rows is counted whenever what waits is put down: a run that goes on from
there has exactly the rest before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from freshtide.latest import StreamTuple


@dataclass(slots=True, kw_only=True)
class Fates:
    """Of rows that were taken in, so many ..."""

    superseded: int = 0
    """... never came into the table: newer ones of their keys were there, or came before they were processed."""
    came_in: int = 0
    """... came into the table, by themselves or in a window."""

    def __add__(self, other: Fates) -> Fates:
        return Fates(superseded=self.superseded + other.superseded, came_in=self.came_in + other.came_in)

    def __sub__(self, other: Fates) -> Fates:
        return Fates(superseded=self.superseded - other.superseded, came_in=self.came_in - other.came_in)


ByTag = Mapping[int, Fates]
"""What has become of tuples, by the tags that they had."""


def by_tag(superseded: Iterable[StreamTuple], came_in: Iterable[StreamTuple]) -> ByTag:
    found: dict[int, Fates] = defaultdict(Fates)
    for item in superseded:
        found[item.tag].superseded += 1
    for item in came_in:
        found[item.tag].came_in += 1
    return dict(found)
