"""Application and queue staleness, against sums over all stretches between two events."""

from __future__ import annotations

from collections.abc import Hashable
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.latest import KeyOrder
from freshtide.latest.pages import PagePool
from freshtide.latest.queues import AppendQueue, LatestQueue
from freshtide.latest.staleness import LatestStaleness
from freshtide.latest.tuples import StreamTuple, TupleQueue

ARRIVALS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), min_size=1, max_size=30)


def test_figure_2_staleness_falls_to_the_age_of_the_first_update_that_came_meanwhile() -> None:
    """Updates every 2, processing takes 3: a at 1, b at 3, c at 5, d at 7."""
    staleness = LatestStaleness(0.0)
    a = staleness.arrived("k", 1.0)
    staleness.dequeued("k", a, 1.0)
    staleness.arrived("k", 3.0)
    assert staleness.application("k", 4.0) == 3.0
    staleness.delivered("k", a, 4.0)
    assert staleness.application("k", 4.0) == 1.0
    assert staleness.queue("k", 4.0) == 1.0
    c = staleness.arrived("k", 5.0)
    staleness.dequeued("k", c, 5.0)
    assert staleness.queue("k", 6.0) == 0.0
    staleness.arrived("k", 7.0)
    assert staleness.application("k", 8.0) == 5.0
    staleness.delivered("k", c, 8.0)
    assert staleness.application("k", 8.0) == 1.0
    # From 1 to 4 it rises to 3, from 4 to 8 from 1 to 5.
    assert staleness.mean_application(8.0) == pytest.approx((4.5 + 12.0) / 8.0)
    # The queue holds b from 3 to 5, and d from 7 on.
    assert staleness.mean_queue(8.0) == pytest.approx((2.0 + 0.5) / 8.0)


@given(ARRIVALS, st.sampled_from(["append", *KeyOrder]), st.integers(1, 4))
def test_the_integrals_are_those_of_all_stretches_between_two_events(
    arrivals: list[tuple[int, str]], kind: str, cost: int
) -> None:
    """One server, one tuple at a time. The model keeps every arrival, and looks at all of them at all moments."""
    queue: TupleQueue = (
        AppendQueue(PagePool(), ()) if kind == "append" else LatestQueue(PagePool(), (), order=KeyOrder(kind))
    )
    moments, now = [], 0
    for gap, key in arrivals:
        now += gap
        moments.append((now, key))
    horizon = now + 20
    staleness = LatestStaleness(0.0)
    came: list[tuple[int, str]] = []
    taken: dict[int, int] = {}
    done: dict[int, int] = {}
    running: StreamTuple | None = None
    ends = 0
    for moment in range(horizon + 1):
        while len(came) < len(moments) and moments[len(came)][0] == moment:
            key = moments[len(came)][1]
            came.append((moment, key))
            queue.enqueue(StreamTuple(moment, key, (), staleness.arrived(key, moment)), moment)
        if running is not None and ends == moment:
            staleness.delivered(running.key, running.tag, moment)
            _settle(done, came, running, moment)
            running = None
        if running is None and (running := queue.dequeue(moment)) is not None:
            staleness.dequeued(running.key, running.tag, moment)
            _settle(taken, came, running, moment)
            ends = moment + cost
    assert staleness.application_by_key(horizon) == pytest.approx(_means(came, done, horizon))
    assert staleness.queue_by_key(horizon) == pytest.approx(_means(came, taken, horizon))
    assert staleness.mean_queue(horizon) == pytest.approx(fmean(_means(came, taken, horizon).values()))


def test_before_anything_has_happened_nothing_is_stale() -> None:
    staleness = LatestStaleness(5.0)
    assert staleness.mean_application(5.0) == staleness.mean_application(9.0) == staleness.queue("k", 9.0) == 0.0


def _settle(settled: dict[int, int], came: list[tuple[int, str]], served: StreamTuple, moment: int) -> None:
    for number, (_, key) in enumerate(came[: served.tag + 1]):
        if key == served.key:
            settled.setdefault(number, moment)


def _means(came: list[tuple[int, str]], settled: dict[int, int], horizon: int) -> dict[Hashable, float]:
    area: dict[Hashable, float] = {key: 0.0 for _, key in came}
    for moment in range(horizon):
        for key in area:
            pending = [
                arrival
                for number, (arrival, other) in enumerate(came)
                if other == key and arrival <= moment < settled.get(number, horizon)
            ]
            area[key] += moment + 0.5 - min(pending) if pending else 0.0
    return {key: total / horizon for key, total in area.items()}
