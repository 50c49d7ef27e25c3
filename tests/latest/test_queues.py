"""Queues against plain models: for any sequence of operations they serve the same, in pages that keep to a limit."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.latest import KeyOrder
from freshtide.latest.memories import NaiveMemory, PagedMemory
from freshtide.latest.orders import Linecutting, Order
from freshtide.latest.pages import MemoryLimitError, PagePool
from freshtide.latest.queues import AppendQueue, LatestQueue, SheddingQueue
from freshtide.latest.shapes import TupleShapeError
from freshtide.latest.staleness import LatestStaleness
from freshtide.latest.statistics import TupleCost
from freshtide.latest.tuples import StreamTuple, TupleQueue
from tests.latest.models import PlainUpdateQueue
from tests.latest.operations import KEYS, OPERATIONS, VALUES, Dequeue, Enqueue, Wait, columns, numbered

ORDERS = st.sampled_from(list(KeyOrder))
Operations = list[Enqueue | Dequeue | Wait]


@given(OPERATIONS, ORDERS, st.booleans(), st.sampled_from([0.0, 0.3, 2.0]), st.integers(1, 5))
def test_an_update_queue_serves_what_a_dictionary_and_a_list_serve(
    operations: Operations, order: KeyOrder, as_printed: bool, cost: float, page_size: int
) -> None:
    queue = LatestQueue(
        PagePool(),
        VALUES,
        order=partial(Linecutting, as_printed=as_printed) if order is KeyOrder.LINECUTTING else order,
        cost=TupleCost(cost),
        memory=partial(PagedMemory, page_size=page_size),
    )
    model = PlainUpdateQueue(order=order, cost=cost, as_printed=as_printed)
    now, number, superseded, dequeued = 100.0, 0, 0, 0
    for operation in operations:
        match operation:
            case Wait():
                now += operation.seconds
            case Enqueue():
                tag = number
                items = [numbered(key, number + n, now, tag=tag) for n, key in enumerate(operation.keys)]
                number += len(items)
                if operation.together:
                    keys, times = [item.key for item in items], [item.time for item in items]
                    dropped = list(queue.enqueue_many(keys, times, columns(items), now, tag))
                else:
                    dropped = [tag for item in items for tag in queue.enqueue(item, now)]
                expected = [old.tag for item in items if (old := model.enqueue(item, now)) is not None]
                assert dropped == expected
                superseded += len(expected)
            case Dequeue():
                served = queue.dequeue_many(operation.count, now)
                assert served == model.dequeue_many(operation.count)
                dequeued += len(served)
        assert len(queue) == len(model.keys)
        assert queue.read() == (model.newest[model.keys[0]] if model.keys else None)
        assert queue.oldest_pending() == model.oldest_pending()
        assert queue.use.used == len(model.keys)
        assert queue.use.allocated == math.ceil(len(model.keys) / page_size) * page_size
    counts = queue.counts
    assert (counts.enqueued, counts.superseded, counts.dequeued, counts.shed) == (number, superseded, dequeued, 0)
    assert counts.enqueued == counts.superseded + counts.dequeued + len(queue)


@given(OPERATIONS, st.integers(1, 5))
def test_an_append_queue_serves_what_a_list_serves(operations: Operations, page_size: int) -> None:
    queue = AppendQueue(PagePool(), VALUES, page_size=page_size)
    model: list[tuple[float, StreamTuple]] = []
    now, number = 100.0, 0
    for operation in operations:
        match operation:
            case Wait():
                now += operation.seconds
            case Enqueue():
                items = [numbered(key, number + n, now, tag=7) for n, key in enumerate(operation.keys)]
                number += len(items)
                if operation.together:
                    keys, times = [item.key for item in items], [item.time for item in items]
                    assert not queue.enqueue_many(keys, times, columns(items), now, 7)
                else:
                    assert not any(queue.enqueue(item, now) for item in items)
                model += [(now, item) for item in items]
            case Dequeue():
                served = queue.dequeue_many(operation.count, now)
                assert served == [item for _, item in model[: operation.count]]
                del model[: operation.count]
        assert len(queue) == queue.use.used == len(model)
        assert queue.oldest_pending() == (model[0][0] if model else None)
        # The first and the last page may be partly used, and no page is held that is empty.
        assert len(model) <= queue.use.allocated <= (math.ceil(len(model) / page_size) + (len(model) > 1)) * page_size
    assert queue.counts.dequeued == number - len(model)


@given(OPERATIONS, ORDERS, st.integers(1, 3))
def test_queues_of_one_pool_keep_to_its_limit_and_a_refusal_loses_nothing_else(
    operations: Operations, order: KeyOrder, pages: int
) -> None:
    widest = 4 * 8 * (4 + len(VALUES) + 1)
    limit = 2 * pages * widest
    pool = PagePool(limit=limit)
    queue, append = LatestQueue(pool, VALUES, order=order, cost=TupleCost(1.0)), AppendQueue(pool, VALUES)
    model, listed = PlainUpdateQueue(order=order, cost=1.0), list[StreamTuple]()
    number = 0
    for now, operation in enumerate(operations):
        match operation:
            case Enqueue(together=True):
                items = [numbered(key, number + n, now, tag=number) for n, key in enumerate(operation.keys)]
                keys, times = [item.key for item in items], [item.time for item in items]
                try:
                    dropped, taken = queue.enqueue_many(keys, times, columns(items), now, number), len(items)
                except MemoryLimitError as refusal:
                    dropped, taken = refusal.dropped, refusal.taken
                    assert pool.used_bytes + widest > limit
                expected = [old.tag for item in items[:taken] if (old := model.enqueue(item, now)) is not None]
                assert list(dropped) == expected
                number += taken
            case Enqueue():
                for key in operation.keys:
                    item = numbered(key, number, now, tag=number)
                    try:
                        append.enqueue(item, now)
                    except MemoryLimitError:
                        assert pool.used_bytes + widest > limit
                    else:
                        listed.append(item)
                        number += 1
            case Dequeue():
                assert queue.dequeue_many(operation.count, now) == model.dequeue_many(operation.count)
                assert append.dequeue_many(operation.count, now) == listed[: operation.count]
                del listed[: operation.count]
        assert pool.allocated_bytes <= limit
    assert queue.dequeue_many(100, 0.0) == model.dequeue_many(100)
    assert append.dequeue_many(1_000, 0.0) == listed
    assert pool.used_bytes == 0
    assert queue.counts.enqueued + append.counts.enqueued == number


def test_figure_6_the_newer_ibm_goes_to_the_tail_or_into_the_place_of_the_older_one() -> None:
    served = {}
    for order in (KeyOrder.FIFO, KeyOrder.IN_PLACE):
        queue = LatestQueue(PagePool(), ("object",), order=order)
        for time, key in enumerate(["IBM", "MSFT", "GOOG", "IBM"]):
            queue.enqueue(StreamTuple(float(time), key, (f"{key} at {time}",)), float(time))
        served[order] = [item.values[0] for item in queue.dequeue_many(4, 4.0)]
    assert served[KeyOrder.FIFO] == ["MSFT at 1", "GOOG at 2", "IBM at 3"]
    assert served[KeyOrder.IN_PLACE] == ["IBM at 3", "MSFT at 1", "GOOG at 2"]


def test_a_key_that_seldom_updates_cuts_the_line() -> None:
    queue = LatestQueue(PagePool(), (), order=KeyOrder.LINECUTTING, cost=TupleCost(2.0))
    for time in range(120):
        queue.enqueue(StreamTuple(float(time), f"often {time % 4}", ()), float(time))
        if time == 99:
            queue.dequeue_many(4, 99.0)
    queue.enqueue(StreamTuple(120.0, "seldom", ()), 120.0)
    assert [item.key for item in queue.dequeue_many(9, 121.0)] == ["seldom", "often 0", "often 1", "often 2", "often 3"]


def test_a_key_that_seldom_updates_does_not_cut_while_somebody_has_waited_for_as_long() -> None:
    """Nobody is served for a time: then whoever comes is slow, compared with a few tuples that are cheap."""
    served = {}
    for as_printed in (True, False):
        order = partial(Linecutting, as_printed=as_printed)
        queue = LatestQueue(PagePool(), (), order=order, cost=TupleCost(1.0))
        for time, key in ((0.0, "a"), (1.0, "b"), (100.0, "c")):
            queue.enqueue(StreamTuple(time, key, ()), time)
        served[as_printed] = [item.key for item in queue.dequeue_many(9, 100.0)]
    assert served == {True: ["c", "a", "b"], False: ["a", "b", "c"]}


@pytest.mark.parametrize("slow", [0, 5, 8, 10])
def test_linecutting_starves_nobody_however_many_keys_are_slow(slow: int) -> None:
    assert _queue_staleness(KeyOrder.LINECUTTING, slow) <= 1.02 * _queue_staleness(KeyOrder.IN_PLACE, slow)


def test_linecutting_as_printed_lets_eight_slow_keys_starve_the_other_two() -> None:
    printed = _queue_staleness(partial(Linecutting, as_printed=True), 8)
    assert printed > 1.5 * _queue_staleness(KeyOrder.IN_PLACE, 8)


def _queue_staleness(order: KeyOrder | Callable[[TupleCost], Order], slow: int) -> float:
    """Ten keys of which the others update ten times as often, at five arrivals per tuple that is served."""
    rng, staleness = random.Random(9), LatestStaleness(0.0)
    queue = LatestQueue(PagePool(), (), order=order, cost=TupleCost(5.0))
    for now in range(6_000):
        [key] = rng.choices(range(10), [1.0] * slow + [10.0] * (10 - slow))
        queue.enqueue(StreamTuple(now, key, (), staleness.arrived(key, now)), now)
        if now % 5 == 0 and (served := queue.dequeue(now)) is not None:
            staleness.dequeued(served.key, served.tag, now)
    return staleness.mean_queue(6_000.0)


def test_while_it_is_not_known_what_a_tuple_costs_no_key_cuts_the_line() -> None:
    queue = LatestQueue(PagePool(), (), order=KeyOrder.LINECUTTING)
    for time, key in enumerate("abca"):
        queue.enqueue(StreamTuple(float(time), key, ()), float(time))
    queue.enqueue(StreamTuple(1_000.0, "d", ()), 1_000.0)
    assert [item.key for item in queue.dequeue_many(9, 1_000.0)] == ["a", "b", "c", "d"]


def test_a_queue_with_naive_memory_serves_the_same_and_gives_nothing_back() -> None:
    queue = LatestQueue(PagePool(), VALUES, order=KeyOrder.IN_PLACE, memory=NaiveMemory)
    items = [numbered(key, number, float(number), tag=-1) for number, key in enumerate("abcabd")]
    for item in items:
        queue.enqueue(item, item.time)
    assert queue.dequeue_many(9, 6.0) == [items[3], items[4], items[2], items[5]]
    assert (queue.use.used, queue.use.allocated) == (0, 4)


def _append() -> TupleQueue:
    return AppendQueue(PagePool(), VALUES)


def _update() -> TupleQueue:
    return LatestQueue(PagePool(), VALUES)


@pytest.mark.parametrize("make", [_append, _update])
@pytest.mark.parametrize(
    "values", [(1, 2.0), (1, 2.0, "x", "y"), ("one", 2.0, "x"), (1, None, "x"), (1, "2.0", "x"), (2**70, 2.0, "x")]
)
def test_values_that_the_queue_has_no_columns_for_are_refused_and_change_nothing(
    make: Callable[[], TupleQueue], values: tuple[object, ...]
) -> None:
    queue = make()
    kept = numbered("a", 1, 5.0, tag=3)
    queue.enqueue(kept, 5.0)
    with pytest.raises(TupleShapeError, match=r"3 values \(int, float, object\)"):
        queue.enqueue(StreamTuple(6.0, "a", values), 6.0)
    with pytest.raises(TupleShapeError, match="batch"):
        queue.enqueue_many(["b", "a"], [6.0, 6.0], [[1, value] for value in values], 6.0)
    assert queue.dequeue_many(9, 7.0) == [kept]
    assert queue.counts.enqueued == 1


@given(st.lists(KEYS, min_size=1), st.integers(0, 10_000))
def test_shedding_drops_nothing_while_the_load_can_be_processed(keys: list[str], seed: int) -> None:
    queue = SheddingQueue(PagePool(), (), uniform=random.Random(seed).random, cost=TupleCost(0.9))
    queue.enqueue(StreamTuple(0.0, "first", ()), 0.0)
    queue.dequeue(0.0)
    items = [StreamTuple(float(time), key, (), time) for time, key in enumerate(keys, start=3)]
    assert not [tag for item in items for tag in queue.enqueue(item, item.time)]
    assert queue.dequeue_many(1_000, 0.0) == items


def test_shedding_keeps_as_much_as_can_be_processed_and_tells_what_it_dropped() -> None:
    queue = SheddingQueue(PagePool(), (), uniform=random.Random(5).random, cost=TupleCost(5.0), utilisation=1.0)
    shed = [tag for time in range(10_000) for tag in queue.enqueue(StreamTuple(time, "a", (), time), float(time))]
    served = [item.tag for item in queue.dequeue_many(10_000, 0.0)]
    assert sorted(shed + served) == list(range(10_000))
    assert len(served) == pytest.approx(2_000, rel=0.1)
    assert queue.counts.shed == len(shed)


def test_keys_of_which_nothing_waits_are_forgotten_when_they_are_many() -> None:
    queue = LatestQueue(PagePool(), (), order=KeyOrder.FIFO, most_idle=100)
    queue.enqueue(StreamTuple(0.0, "waits", ()), 0.0)
    for number in range(5_000):
        queue.enqueue(StreamTuple(float(number), f"once {number}", ()), float(number))
        served = queue.dequeue(float(number))
        assert served is not None
        if served.key == "waits":
            queue.enqueue(served, float(number))
    assert len(queue.cells) - len(queue) <= 101
    assert len(queue.cells.keys) < 500
    waiting = {item.key for item in queue.dequeue_many(len(queue), 5_000.0)}
    assert {"waits", "once 4999"} <= waiting


def test_a_tuple_that_is_older_than_the_one_that_waits_is_superseded_as_it_comes() -> None:
    queue = LatestQueue(PagePool(), (), order=KeyOrder.FIFO)
    assert list(queue.enqueue(StreamTuple(2.0, "a", (), tag=1), 0.0)) == []
    assert list(queue.enqueue(StreamTuple(1.0, "a", (), tag=2), 1.0)) == [2]
    assert list(queue.enqueue(StreamTuple(2.0, "a", (), tag=3), 2.0)) == [1]
    assert queue.dequeue(3.0) == StreamTuple(2.0, "a", (), tag=3)
    assert (queue.counts.superseded, queue.oldest_pending()) == (2, None)
