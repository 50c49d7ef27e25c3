from __future__ import annotations

from collections.abc import Hashable, Iterable

from freshtide.latest.operators.elements import Element, plain
from freshtide.latest.tuples import StreamTuple


class Union:
    """Merges streams of the same schema and key so that the times of each key only go up (section 3.2).

    With appended tuples it would have to wait for the slowest input. Here the youngest tuple is all that counts: what
    comes later and is not younger than what was handed on of its key is dropped, and of two at the same time the one
    that was there first is kept.
    """

    inputs = None

    def __init__(self) -> None:
        self._handed_on: dict[Hashable, float] = {}

    def process(self, element: Element, port: int) -> Iterable[Element]:  # noqa: ARG002 - all inputs are alike
        item = plain(element, "union")
        last = self._handed_on.get(item.key)
        if last is None or item.time > last:
            self._handed_on[item.key] = item.time
            yield item

    def process_pending(self, pending: Iterable[StreamTuple]) -> list[StreamTuple]:
        """Hand on the youngest of each key among tuples that wait together; at the same time, the one named first."""
        youngest: dict[Hashable, StreamTuple] = {}
        for item in pending:
            known = youngest.get(item.key)
            if known is None or item.time > known.time:
                youngest[item.key] = item
        return [plain(handed_on, "union") for item in youngest.values() for handed_on in self.process(item, 0)]
