"""What is expected to be released soon."""

from __future__ import annotations

import heapq
import math

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.states import NOT_RUNNING, TableState


class Expectations:
    """The tables by the moment of their next release: a period after the last one (Golab et al. 2011, section 3.1)."""

    def __init__(self, states: list[TableState]) -> None:
        self._heap = [(state.expected_at, state.place, state) for state in states if state.expected_at < math.inf]
        heapq.heapify(self._heap)

    def released(self, state: TableState, now: float) -> None:
        state.expected_at = now + state.period
        heapq.heappush(self._heap, (state.expected_at, state.place, state))

    def within(self, seconds: float, now: float) -> list[Candidate]:
        """What is expected in so many seconds; `released_at` is the number of seconds until then."""
        while self._heap and (self._heap[0][0] < now or self._heap[0][0] != self._heap[0][2].expected_at):
            # What has not come in time has lost its credit until it comes.
            heapq.heappop(self._heap)
        found, front = [], [0]
        while front:
            at = front.pop()
            if at >= len(self._heap) or self._heap[at][0] > now + seconds:
                continue
            moment, _, state = self._heap[at]
            front += (2 * at + 1, 2 * at + 2)
            if moment == state.expected_at and not state.ticket and state.track == NOT_RUNNING:
                found.append(_expected(state, moment - now))
        return found


def _expected(state: TableState, after: float) -> Candidate:
    """The update that a table asks for when it gets the data of one period."""
    return Candidate(
        table=state.table,
        place=state.place,
        priority=state.priority,
        period=state.period,
        released_at=after,
        delta=state.period,
        cost=state.period_cost,
    )
