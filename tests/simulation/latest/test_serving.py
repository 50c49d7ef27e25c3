"""A queue in virtual time: what happens when, and how stale that is."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest.pages import PagePool
from freshtide.latest.queues import AppendQueue, LatestQueue
from freshtide.latest.tuples import StreamTuple, TupleQueue
from freshtide.latest.windows import WindowGrid, WindowQueue
from freshtide.simulation.latest import (
    Arrival,
    Observer,
    ResultStaleness,
    TupleStaleness,
    each_tick,
    in_own_time,
    keys,
    serve,
)
from tests.examples import examples


class Log:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, float]] = []

    def arrived(self, item: StreamTuple, now: float) -> None:
        self.lines.append(("arrived", item.tag, now))

    def dequeued(self, work: StreamTuple, now: float) -> None:
        self.lines.append(("dequeued", work.tag, now))

    def delivered(self, work: StreamTuple, now: float) -> None:
        self.lines.append(("delivered", work.tag, now))


def in_place() -> LatestQueue:
    return LatestQueue(PagePool(), (), order=KeyOrder.IN_PLACE)


def served(
    arrivals: Iterator[Arrival], queue: TupleQueue, *observers: Observer[StreamTuple], cost: float, **limit: float
) -> float:
    """When it ends."""
    return serve(
        arrivals, enqueue=queue.enqueue, dequeue=queue.dequeue, cost=lambda _: cost, observers=observers, **limit
    )


def logged(queue: TupleQueue, arrivals: list[Arrival], *, cost: float) -> list[tuple[str, int, float]]:
    log = Log()
    served(iter(arrivals), queue, log, cost=cost)
    return log.lines


def figure_2(updates: int) -> list[Arrival]:
    """One update per two units of time, of one key."""
    return list(itertools.islice(each_tick(itertools.repeat(0), interval=2.0), updates))


def test_figure_2_the_server_takes_the_newest_when_it_is_free() -> None:
    """Updates at 2, 4, 6, 8 with a cost of 3: the third arrives in the middle of the second's work, and so on."""
    assert logged(in_place(), figure_2(4), cost=3.0) == [
        ("arrived", 0, 2.0),
        ("dequeued", 0, 2.0),
        ("arrived", 1, 4.0),
        ("delivered", 0, 5.0),
        ("dequeued", 1, 5.0),
        ("arrived", 2, 6.0),
        ("delivered", 1, 8.0),
        ("arrived", 3, 8.0),
        ("dequeued", 3, 8.0),
        ("delivered", 3, 11.0),
    ]


def test_an_append_queue_serves_everything_however_long_it_takes() -> None:
    delivered = [line for line in logged(AppendQueue(PagePool(), ()), figure_2(4), cost=3.0) if line[0] == "delivered"]
    assert delivered == [("delivered", number, 5.0 + 3.0 * number) for number in range(4)]


def test_staleness_falls_to_the_age_of_the_first_update_that_is_not_reflected() -> None:
    """At 5 the update of 4 is pending, at 8 that of 6, at 11 none."""
    observer = TupleStaleness()
    end = served(iter(figure_2(4)), in_place(), observer, cost=3.0)
    assert end == 11.0
    pieces = [(0.0, 3.0), (1.0, 4.0), (2.0, 5.0)]
    assert observer.application(end) == pytest.approx(sum((b - a) * (a + b) / 2 for a, b in pieces) / end)
    # Waiting: from 4 to 5, and from 6 to 8.
    assert observer.queue(end) == pytest.approx((1.0**2 / 2 + 2.0**2 / 2) / end)


@pytest.mark.parametrize("load", [2.0, 5.0])
def test_the_run_ends_where_it_is_told_to(load: float) -> None:
    def run(**limit: float) -> tuple[float, int]:
        log = Log()
        arrivals = each_tick(keys.round_robin(3))
        end = served(arrivals, in_place(), log, cost=load, **limit)
        return end, sum(what != "dequeued" for what, _, _ in log.lines)

    assert run(horizon=100.5)[0] == 100.5
    assert run(events=50)[1] == 50


@settings(max_examples=examples(30))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 5.0)), min_size=1, max_size=40),
    st.floats(0.1, 8.0),
    st.sampled_from([None, *KeyOrder]),
)
def test_staleness_is_the_integral_of_its_definition(
    gaps: list[tuple[int, float]], cost: float, order: KeyOrder | None
) -> None:
    """Against a model that goes by the definition of section 3.3: the oldest arrival newer than the last result."""
    moments = itertools.accumulate(gap for _, gap in gaps)
    arrivals = [
        Arrival(moment, StreamTuple(moment, key, (), number))
        for number, (moment, (key, _)) in enumerate(zip(moments, gaps, strict=True))
    ]
    queue: TupleQueue = AppendQueue(PagePool(), ()) if order is None else LatestQueue(PagePool(), (), order=order)
    log, observer = Log(), TupleStaleness()
    end = served(iter(arrivals), queue, log, observer, cost=cost)
    seen = {arrival.item.key for arrival in arrivals}
    for settling, measured in (("delivered", observer.application(end)), ("dequeued", observer.queue(end))):
        settled = [(now, tag) for what, tag, now in log.lines if what == settling]
        area = sum(
            # Between two events it grows evenly, so that it is on average what it is in the middle.
            (later - sooner) * oldest_pending(arrivals, settled, key, (sooner + later) / 2)
            for sooner, later in itertools.pairwise(sorted({now for _, _, now in log.lines}))
            for key in seen
        )
        assert measured * end * len(seen) == pytest.approx(area, abs=1e-6)


def oldest_pending(arrivals: list[Arrival], settled: list[tuple[float, int]], key: object, now: float) -> float:
    """The age of the oldest update of the key that no result reflects; no result is of a key's older tuple."""
    of_key = {item.tag: moment for moment, item in arrivals if item.key == key and moment <= now}
    reflected = max((tag for moment, tag in settled if moment <= now and tag in of_key), default=-1)
    return max((now - moment for tag, moment in of_key.items() if tag > reflected), default=0.0)


def test_sources_may_count_their_own_updates() -> None:
    arrivals = list(itertools.islice(each_tick(keys.round_robin(2), interval=0.5), 5))
    counted = list(in_own_time(arrivals))
    assert [item.time for _, item in counted] == [1.0, 1.0, 2.0, 2.0, 3.0]
    assert [(moment, item.key, item.tag) for moment, item in counted] == [
        (moment, item.key, item.tag) for moment, item in arrivals
    ]


def test_windows_are_served_tuple_by_tuple_and_results_are_late_by_what_is_left_to_do() -> None:
    """Tuples at 1 to 6, windows of three, a cost of 1/2: EAGER is done half a unit after a window has closed."""
    grid = WindowGrid(3.0, 3.0, 1.0)
    queue = WindowQueue(PagePool(), (), grid=grid, semantics=WindowSemantics.EAGER, order=KeyOrder.IN_PLACE)
    observer = ResultStaleness(grid, WindowSemantics.EAGER)
    end = serve(
        itertools.islice(each_tick(itertools.repeat(0)), 6),
        enqueue=queue.enqueue,
        dequeue=queue.dequeue_marked,
        cost=lambda _: 0.5,
        observers=[observer],
    )
    assert end == 6.5
    # The windows [0, 3) and [3, 6) close at 2 and 5.
    assert observer.application(end) * end == pytest.approx(2 * 0.5**2 / 2)
    assert observer.queue(end) == 0.0


def test_the_same_seed_gives_the_same_run() -> None:
    def run(seed: int) -> float:
        observer = TupleStaleness()
        arrivals = each_tick(keys.drawn(keys.zipf(20, 0.9), random.Random(seed)))
        end = served(arrivals, in_place(), observer, cost=3.0, events=2_000)
        return observer.application(end)

    assert run(1) == run(1)
    assert run(1) != run(2)
