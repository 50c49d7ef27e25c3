"""The queue of windows: gaps, several keys, whole windows, memory that runs out, and what the paper compares with."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest.manager import StorageManager
from freshtide.latest.operators import Aggregate, ContinuousQuery, Step, total
from freshtide.latest.pages import MemoryLimitError, PagePool
from freshtide.latest.queues import LatestQueue
from freshtide.latest.shapes import TupleShapeError
from freshtide.latest.statistics import TupleCost
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows import (
    AppendWindowQueue,
    KeyState,
    Mark,
    WindowGrid,
    WindowQueue,
    WindowSheddingQueue,
)
from tests.latest.windows.operating import operate

EAGER, LAZY = WindowSemantics.EAGER, WindowSemantics.LAZY
TICKS = WindowGrid(3.0, 1.0, tick=1.0)
MINUTES = WindowGrid(60.0, 60.0)


def at(time: float, key: str = "x") -> StreamTuple:
    return StreamTuple(time, key, (int(time),))


def queue_of(
    semantics: WindowSemantics, grid: WindowGrid = TICKS, order: KeyOrder = KeyOrder.IN_PLACE, cost: float = 1.0
) -> WindowQueue:
    return WindowQueue(PagePool(), ("int",), grid=grid, semantics=semantics, order=order, cost=TupleCost(cost))


def fill(queue: WindowQueue | AppendWindowQueue, items: Iterable[StreamTuple]) -> None:
    for item in items:
        queue.enqueue(item, item.time)


def test_eager_goes_idle_at_a_gap_and_back_to_ready_with_the_next_tuple_of_the_window() -> None:
    queue = queue_of(EAGER)
    fill(queue, [at(1)])
    assert queue.states("x") == {KeyState.WAIT}
    assert queue.dequeue(1.0) == at(1)
    assert queue.states("x") == {KeyState.READY}
    assert queue.dequeue(2.0) is None
    assert queue.states("x") == {KeyState.IDLE}
    fill(queue, [at(3)])
    assert queue.states("x") == {KeyState.READY, KeyState.WAIT}, "it is under processing, and W3 waits"
    closing = queue.dequeue_marked(3.0)
    assert closing is not None
    assert (closing.item, closing.closes) == (at(3), True)
    assert queue.states("x") == {KeyState.WAIT}
    assert queue.states("nobody") == frozenset()


def test_an_idle_key_learns_from_a_later_tuple_that_its_window_is_complete() -> None:
    queue = queue_of(EAGER, MINUTES)
    fill(queue, [at(10), at(50)])
    assert queue.dequeue_many(5, 50.0) == [at(10), at(50)]
    assert queue.dequeue(50.0) is None
    fill(queue, [at(130)])
    news = queue.dequeue_marked(130.0)
    assert news is not None
    assert (news.item, news.closes, news.window.end) == (None, True, 60.0)
    opening = queue.dequeue_marked(130.0)
    assert opening is not None
    assert (opening.item, opening.mark, opening.window.start) == (at(130), Mark.OPENS, 120.0)


def test_a_key_that_is_idle_makes_room_and_keeps_its_place() -> None:
    queue = queue_of(EAGER, MINUTES)
    fill(queue, [at(10, "slow")])
    assert queue.dequeue(10.0) == at(10, "slow")
    fill(queue, [at(11, "other"), at(12, "third")])
    assert queue.dequeue(12.0) == at(11, "other"), "nothing more of the window of 'slow' is there"
    fill(queue, [at(70, "slow")])
    assert queue.oldest_pending() == 12.0
    queue.dequeue_marked(70.0)
    assert queue.dequeue(70.0) == at(12, "third"), "it has waited longer"
    assert queue.dequeue(70.0) == at(70, "slow")


def test_lazy_serves_the_window_before_a_gap_and_no_empty_ones() -> None:
    queue = queue_of(LAZY, WindowGrid(3.0, 1.0))
    fill(queue, [at(1), at(100)])
    served = queue.dequeue_window(100.0)
    assert served is not None
    assert (served.start, served.end, served.tuples) == (1.0, 4.0, (at(1),))
    assert queue.dequeue_window(100.0) is None
    assert queue.stored("x") == (at(100),)


def test_on_real_valued_time_a_window_is_complete_with_the_first_tuple_after_it() -> None:
    queue = queue_of(LAZY, MINUTES)
    fill(queue, [at(3.5), at(59.999)])
    assert queue.dequeue_window(60.0) is None
    fill(queue, [at(61.25)])
    assert queue.oldest_complete() == 61.25
    served = queue.dequeue_window(62.0)
    assert served is not None
    assert [item.time for item in served.tuples] == [3.5, 59.999]


def test_eager_keeps_a_started_window_only_if_it_was_committed_to() -> None:
    dropping, keeping = queue_of(EAGER, MINUTES), queue_of(EAGER, MINUTES)
    for queue in (dropping, keeping):
        fill(queue, [at(3), at(50)])
    keeping.commit_started()
    assert keeping.states("x") == {KeyState.READY}
    assert keeping.oldest_complete() is None
    for queue in (dropping, keeping):
        fill(queue, [at(65)])
    assert dropping.dequeue_window(65.0) is None, "the window of 65 has started, and is committed to now"
    served = keeping.dequeue_window(65.0)
    assert served is not None
    assert served.tuples == (at(3), at(50))


def test_what_an_earlier_run_has_served_is_not_served_again() -> None:
    lazy, eager = queue_of(LAZY), queue_of(EAGER)
    for queue in (lazy, eager):
        queue.resume_after("x", 2.0)
        fill(queue, [at(2)])
        assert len(queue) == 0, "the window that starts at 2 is no update"
        fill(queue, [at(3)])
        queue.commit_started()
        fill(queue, [at(4)])
        assert queue.dequeue_window(4.0) is None
        fill(queue, [at(5)])
        served = queue.dequeue_window(5.0)
        assert served is not None
        assert served.tuples == (at(3), at(4), at(5))


def test_a_tuple_between_two_windows_is_in_none_and_counted() -> None:
    queue = queue_of(LAZY, WindowGrid(1.0, 10.0))
    assert queue.enqueue(at(0.5)._replace(tag=1), 0.5) == []
    assert queue.enqueue(at(5.0)._replace(tag=2), 5.0) == [2], "it is in no window"
    assert queue.counts.outside == 1
    served = queue.dequeue_window(5.0)
    assert served is not None
    assert [item.time for item in served.tuples] == [0.5], "but it shows that the window before it is complete"
    assert served.released == (1,)


def test_reading_shows_what_would_be_served_and_leaves_it() -> None:
    append, eager = AppendWindowQueue(PagePool(), ("int",), grid=TICKS), queue_of(EAGER)
    for queue in (append, eager):
        assert queue.read() is None
        fill(queue, [at(1), at(2)])
        for _ in range(2):
            assert queue.read() == at(1 if queue is append else 2), "to start W2 has dropped 1"
        served = queue.dequeue(2.0)
        assert served == at(1 if queue is append else 2)
    assert eager.read() is None, "nothing more of the window is there"


def test_linecutting_lets_the_windows_of_a_slow_key_go_first() -> None:
    first: dict[KeyOrder, object] = {}
    for order in (KeyOrder.LINECUTTING, KeyOrder.IN_PLACE):
        queue = queue_of(LAZY, WindowGrid(1.0, 1.0, tick=1.0), order=order)
        for time in range(50):
            while queue.dequeue_window(float(time)) is not None:
                pass
            fill(queue, (at(float(time), key) for key in ("fast", "faster")))
        fill(queue, [at(50.0, "slow")])
        served = queue.dequeue_window(50.0)
        assert served is not None
        first[order] = served.key
    assert first == {KeyOrder.LINECUTTING: "slow", KeyOrder.IN_PLACE: "fast"}


@pytest.mark.parametrize("semantics", [LAZY, EAGER])
def test_a_full_memory_refuses_a_tuple_and_loses_nothing(semantics: WindowSemantics) -> None:
    location = 8 * 4  # time, tag, value and owner
    pool = PagePool(limit=2 * location)
    queue = WindowQueue(pool, ("int",), grid=MINUTES, semantics=semantics, block_size=1, page_size=1)
    fill(queue, [at(3), at(50)])
    with pytest.raises(MemoryLimitError):
        queue.enqueue(at(51), 51.0)
    with pytest.raises(MemoryLimitError):
        queue.enqueue(at(51, "other"), 51.0)
    assert queue.stored("x") == (at(3), at(50))
    assert queue.counts.enqueued == 2
    assert queue.use.used == 2
    assert pool.allocated_bytes <= 2 * location


def test_a_window_that_makes_way_makes_room_for_the_one_that_starts() -> None:
    pool = PagePool(limit=2 * 8 * 4)
    queue = WindowQueue(pool, ("int",), grid=MINUTES, semantics=EAGER, block_size=1, page_size=1)
    fill(queue, [at(3), at(50)])
    assert queue.enqueue(at(61), 61.0) == []
    assert queue.stored("x") == (at(61),)
    assert queue.counts.superseded == 2


def test_pages_go_back_to_a_pool_that_queues_share() -> None:
    pool = PagePool()
    queues = [WindowQueue(pool, ("int",), grid=MINUTES, semantics=LAZY) for _ in range(2)]
    for queue in queues:
        fill(queue, (at(float(time), f"k{number}") for time in range(61) for number in range(5)))
        while queue.dequeue_window(100.0) is not None:
            pass
        assert queue.stored_tuples == 5, "the first tuples of the next windows"
    fill(queues[0], (at(60.0, f"k{number}") for number in range(5)))
    assert pool.used_bytes == sum(queue.use.allocated * 4 * 8 * 4 for queue in queues), "blocks of 4 tuples"


def test_windows_survive_that_their_pages_are_moved_to_make_room_for_another_queue() -> None:
    manager, a_minute_in_ten = StorageManager(limit=40_000), WindowGrid(60.0, 600.0)
    windows = manager.add("windows", lambda pool: WindowQueue(pool, ("int",), grid=a_minute_in_ten, semantics=LAZY))
    single = manager.add("single", lambda pool: LatestQueue(pool, ("object",)))
    tenants = {"windows": 0, "single": 0}
    with pytest.raises(MemoryLimitError):
        for tenants["windows"] in range(10_000):
            windows.enqueue(at(1.0, f"k{tenants['windows']}"), 1.0)
    kept = [f"k{number}" for number in range(0, tenants["windows"], 3)]
    fill(windows, (at(2.0, key) for key in kept))
    for number in range(tenants["windows"]):
        if f"k{number}" not in kept:
            windows.enqueue(at(200.0, f"k{number}"), 200.0)  # in no window, but it closes one
    while windows.dequeue_window(200.0) is not None:
        pass
    with pytest.raises(MemoryLimitError):
        for tenants["single"] in range(10_000):
            single.enqueue(StreamTuple(1.0, f"s{tenants['single']}", ("some value",)), 1.0)
    assert tenants["single"] > 0
    assert manager.pool.allocated_bytes <= 40_000
    assert all(windows.stored(key) == (at(1.0, key), at(2.0, key)) for key in kept)


def test_a_tuple_of_the_wrong_shape_is_refused() -> None:
    queue = queue_of(LAZY)
    with pytest.raises(TupleShapeError):
        queue.enqueue(StreamTuple(1.0, "x", ("not a number",)), 1.0)
    assert queue.stored_tuples == 0


def test_batches_are_taken_in_like_single_tuples() -> None:
    queue = queue_of(LAZY)
    assert queue.enqueue_many(["x"] * 4, [1.0, 2.0, 3.0, 4.0], [[1, 2, 3, 4]], 4.0, tag=9) == [9], "W2 drops 1"
    served = queue.dequeue_window(4.0)
    assert served is not None
    assert [item.values for item in served.tuples] == [(2,), (3,), (4,)]


def test_append_windowing_processes_every_window_and_each_tuple_once_per_window() -> None:
    queue = AppendWindowQueue(PagePool(), ("int",), grid=TICKS)
    fill(queue, (at(float(time)) for time in range(1, 8)))
    query = ContinuousQuery(Step(Aggregate(total(0)), "x"))
    served = list(iter(lambda: queue.dequeue_marked(9.0), None))
    results = [result for marked in served for result in query.push("x", marked)]
    assert results == [StreamTuple(start + 3.0, "x", (3 * start + 3,)) for start in (1, 2, 3, 4, 5)]
    assert [marked.window.start for marked in served if marked.item == at(3)] == [1.0, 2.0, 3.0]


def test_append_windowing_learns_from_a_tuple_after_a_gap_that_windows_are_complete() -> None:
    queue = AppendWindowQueue(PagePool(), ("int",), grid=MINUTES)
    fill(queue, [at(3), at(50), at(130)])
    served = [(m.item, m.mark, m.window.start, m.closes) for m in iter(lambda: queue.dequeue_marked(130.0), None)]
    assert served == [
        (at(3), Mark.OPENS, 0.0, False),
        (at(50), Mark.CONTINUES, 0.0, False),
        (None, Mark.CONTINUES, 0.0, True),
        (at(130), Mark.OPENS, 120.0, False),
    ]


def test_random_window_shedding_drops_windows_whole() -> None:
    uniform = random.Random(7).random
    queue = WindowSheddingQueue(PagePool(), ("int",), grid=TICKS, share=0.7, uniform=uniform)
    fill(queue, (at(float(time)) for time in range(1, 401)))
    query = ContinuousQuery(Step(Aggregate(total(0)), "x"))
    served = list(iter(lambda: queue.dequeue_marked(401.0), None))
    results = [result for marked in served for result in query.push("x", marked)]
    assert 80 < len(results) < 160, "three in ten of 398 windows"
    for result in results:
        assert isinstance(result, StreamTuple)
        start = result.time - 3.0
        assert result.values == (3 * start + 3,), "all three tuples of it"
    assert 0 < queue.counts.shed < 400


def test_the_more_windows_overlap_the_further_append_windowing_falls_behind_the_update_semantics() -> None:
    arrivals = [at(float(time)) for time in range(1, 100)]
    append, lazy, eager = AppendWindowQueue(PagePool(), ("int",), grid=TICKS), queue_of(LAZY), queue_of(EAGER)
    (*_, (_, append_start)), (*_, (_, lazy_start)), (*_, (_, eager_start)) = (
        operate(append, arrivals, cost=2.0).results,
        operate(lazy, arrivals, cost=2.0).results,
        operate(eager, arrivals, cost=2.0).results,
    )
    assert append_start < 20, "three times two of work per time unit: it is six times too slow"
    assert 80 < lazy_start <= eager_start
