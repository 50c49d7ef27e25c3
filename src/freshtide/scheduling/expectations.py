"""What is expected to be released soon."""

from __future__ import annotations

import heapq
import math

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.conditions import NOT_RUNNING
from freshtide.scheduling.known import KnownTable


class Expectations:
    """The tables by the moment of their next release: a period after the last one (Golab et al. 2011, section 3.1)."""

    def __init__(self, tables: list[KnownTable]) -> None:
        self._tables = tables
        # By place.
        self._expected = [math.inf if t.spec.expected_at is None else t.spec.expected_at for t in tables]
        self._heap = [(at, place) for place, at in enumerate(self._expected) if at < math.inf]
        heapq.heapify(self._heap)

    def take_over(self, before: Expectations) -> None:
        """Expect of the tables that were there before what was expected of them."""
        known = {table.name: before._expected[table.place] for table in before._tables}
        self._expected = [known.get(t.name, at) for t, at in zip(self._tables, self._expected, strict=True)]
        self._heap = [(at, place) for place, at in enumerate(self._expected) if at < math.inf]
        heapq.heapify(self._heap)

    def released(self, table: KnownTable, now: float) -> None:
        self._expected[table.place] = now + table.candidate.period
        heapq.heappush(self._heap, (self._expected[table.place], table.place))

    def within(self, seconds: float, now: float) -> list[Candidate]:
        """What is expected in so many seconds; `released_at` is the number of seconds until then."""
        while self._heap and (self._heap[0][0] < now or self._heap[0][0] != self._expected[self._heap[0][1]]):
            # What has not come in time has lost its credit until it comes.
            heapq.heappop(self._heap)
        found, front = [], [0]
        while front:
            at = front.pop()
            if at >= len(self._heap) or self._heap[at][0] > now + seconds:
                continue
            moment, place = self._heap[at]
            table = self._tables[place]
            front += (2 * at + 1, 2 * at + 2)
            if moment == self._expected[place] and not table.candidate.ticket and table.condition.track == NOT_RUNNING:
                found.append(_expected(table, moment - now))
        return found


def _expected(table: KnownTable, after: float) -> Candidate:
    """The update that a table asks for when it gets the data of one period."""
    return Candidate(
        table=table.name,
        place=table.place,
        priority=table.candidate.priority,
        period=table.candidate.period,
        released_at=after,
        delta=table.candidate.period,
        cost=table.estimate.per_period,
    )
