"""What becomes of the tuples of a window queue: handed out with windows, or superseded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from freshtide.latest.tuples import UNTAGGED


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleFates:
    """What has become of tuples, by their tags: each is counted once, in however many windows it is."""

    served: Counter[int] = field(default_factory=Counter)
    """Handed out with a window for the first time."""
    superseded: Counter[int] = field(default_factory=Counter)
    """Gone without having been handed out."""


class Departures:
    """Tuples that have left the buffers of a queue since it was last asked."""

    def __init__(self) -> None:
        self.tags: list[int] = []
        self.superseded = 0
        """How many tuples ever left without having been handed out."""
        self.outside = 0
        """How many of those are in no window."""
        self.stored = 0
        """How many tuples are there."""
        self.fates = TupleFates()

    def turn_away(self, tag: int, *, outside: bool) -> None:
        """A tuple that no window needs leaves before it was stored."""
        self.supersede(tag)
        self.outside += outside
        if tag != UNTAGGED:
            self.tags.append(tag)

    def supersede(self, tag: int) -> None:
        """A tuple leaves without having been handed out."""
        self.superseded += 1
        self.fates.superseded[tag] += 1

    def take(self) -> list[int]:
        """The tags of those that have left since the last time."""
        tags, self.tags = self.tags, []
        return tags

    def take_fates(self) -> TupleFates:
        """What has become of tuples since the last time."""
        fates, self.fates = self.fates, TupleFates()
        return fates
