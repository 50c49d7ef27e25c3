"""The two traces of figure 12 of Moga et al. 2009: omega = 3, delta = 1, a tuple costs 2, one key.

The text of the report has lost the pictures. What it says about them gives both traces: tuples arrive one per time unit
from time 1 and bear the time as their name, the result of the window that starts at 1 is given at time 7 (EAGER), the
key starts waiting at time 2, and the window {2, 3, 4} closes at time 4. So time is counted in ticks, the window W that
starts at w holds w, w + 1 and w + 2, and w + 2 closes it. What arrives at a moment is there for what is served then.

EAGER commits to the window that started last, and goes on with it as its tuples arrive:

     time  arrival                       operator                           key waits  application
        1  1 starts W1                   commits W1, takes 1 (mark 3)       no         0
        2  2 starts W2                   (until 3)                          since 2    0
        3  3 starts W3, W1 closes        takes 2 (starts W2: mark 0)        since 2    W1 since 3
        4  4 starts W4, W2 closes        (until 5)                          since 2    1
        5  5 starts W5, 4 is erased      takes 3 (mark 0), closes W1        since 2    2
        6  6 starts W6, 5 is erased      (until 7)                          since 2    3
        7  7 starts W7, 6 is erased      result of W1; commits W7, takes 7  no, 5->0   4 -> 3: W2 since 4
        8  8 starts W8                                                      since 8    4
       13  13 starts W13, 12 is erased   result of W7; commits W13          no, 5->0   9 -> 3: W8 since 10

2 and 3 also start windows that are dropped, but W1 needs them, so they leave when they have been taken.

LAZY commits to the window that closed last:

     time  arrival                       operator                           key waits  application
        3  3 closes W1                   commits W1, takes 1 (mark 3)       no         W1 since 3
        4  4 closes W2                   (until 5)                          since 4    1
        5  5 closes W3                   takes 2 (mark 0)                   since 4    2
        6  6 closes W4                   (until 7)                          since 4    3
        7  7 closes W5, 4 is dropped     takes 3 (mark 0), closes W1        since 4    4
        8  8 closes W6, 5 is dropped     (until 9)                          since 4    5
        9  9 closes W7, 6 is dropped     result of W1; commits W7, takes 7  no, 5->0   6 -> 5: W2 since 4
       15  15 closes W13, 12 is dropped  result of W7; commits W13          no, 5->0   11 -> 5: W8 since 10

Both process the same windows. EAGER does so two time units earlier, because it does not wait for them to close.
"""

from __future__ import annotations

import pytest

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest.operators import Aggregate, ContinuousQuery, Step, count, total
from freshtide.latest.pages import PagePool
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows import WindowGrid, WindowQueue, WindowStaleness
from tests.latest.windows.operating import Operated, operate

GRID = WindowGrid(3.0, 1.0, tick=1.0)


def trace(semantics: WindowSemantics, *, until: int) -> tuple[Operated, WindowQueue, WindowStaleness]:
    queue = WindowQueue(PagePool(), ("int",), grid=GRID, semantics=semantics, order=KeyOrder.IN_PLACE)
    staleness = WindowStaleness(GRID, semantics, begun=1.0)
    arrivals = [StreamTuple(float(time), "x", (time,), time) for time in range(1, until + 1)]
    return operate(queue, arrivals, cost=2.0, staleness=staleness), queue, staleness


def test_eager_marks_commits_drops_and_results() -> None:
    seen, queue, _ = trace(WindowSemantics.EAGER, until=13)
    assert seen.commits == [(1, 1), (7, 7), (13, 13)]
    assert [at for at, _ in seen.served] == [1, 3, 5, 7, 9, 11, 13]
    assert seen.marks == [(1, 3), (2, 0), (3, 0), (7, 9), (8, 0), (9, 0), (13, 15)]
    assert seen.results == [(7, 1), (13, 7)]
    assert seen.dropped == [(5, 4), (6, 5), (7, 6), (11, 10), (12, 11), (13, 12)]
    assert queue.counts.superseded == 6
    assert queue.counts.superseded_windows == 10, "W2 to W6 and W8 to W12"


def test_eager_staleness() -> None:
    seen, _, staleness = trace(WindowSemantics.EAGER, until=13)
    assert [seen.queue_staleness[at] for at in range(1, 14)] == [0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0]
    before, after = zip(*(seen.application_staleness[at] for at in range(1, 14)), strict=True)
    assert before == (0, 0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9)
    assert after == (0, 0, 0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 3), "the window that closes at 4 invalidates the output at 7"
    assert staleness.mean_queue(13.0) == pytest.approx((5 * 5 / 2 + 5 * 5 / 2) / 12)
    assert staleness.mean_application(13.0) == pytest.approx((4 * 4 / 2 + 6 * (3 + 9) / 2) / 12)


def test_lazy_marks_commits_drops_and_results() -> None:
    seen, queue, _ = trace(WindowSemantics.LAZY, until=15)
    assert seen.commits == [(3, 1), (9, 7), (15, 13)]
    assert [at for at, _ in seen.served] == [3, 5, 7, 9, 11, 13, 15]
    assert seen.marks == [(1, 3), (2, 0), (3, 0), (7, 9), (8, 0), (9, 0), (13, 15)]
    assert seen.results == [(9, 1), (15, 7)]
    assert seen.dropped == [(7, 4), (8, 5), (9, 6), (13, 10), (14, 11), (15, 12)]
    assert queue.counts.superseded == 6
    assert queue.counts.superseded_windows == 10, "W2 to W6 and W8 to W12"


def test_lazy_staleness() -> None:
    seen, _, staleness = trace(WindowSemantics.LAZY, until=15)
    assert [seen.queue_staleness[at] for at in range(1, 16)] == [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0]
    before, after = zip(*(seen.application_staleness[at] for at in range(1, 16)), strict=True)
    assert before == (0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11)
    assert after == (0, 0, 0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 5), "W2 closed at 4, W8 at 10"
    assert staleness.mean_queue(15.0) == pytest.approx((5 * 5 / 2 + 5 * 5 / 2) / 14)
    assert staleness.mean_application(15.0) == pytest.approx((6 * 6 / 2 + 6 * (5 + 11) / 2) / 14)


@pytest.mark.parametrize("semantics", list(WindowSemantics))
def test_the_aggregate_gets_exactly_the_tuples_of_the_committed_windows(semantics: WindowSemantics) -> None:
    seen, _, _ = trace(semantics, until=15)
    query = ContinuousQuery(Step(Aggregate(count(), total(0)), "x"))
    results = [result for _, marked in seen.served for result in query.push("x", marked)]
    assert results == [StreamTuple(4.0, "x", (3, 1 + 2 + 3)), StreamTuple(10.0, "x", (3, 7 + 8 + 9))]
