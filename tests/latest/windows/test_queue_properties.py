"""The queue of windows against a plain model: what it serves, what it stores, and what memory it takes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest.pages import PagePool
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows import KeyState, Mark, WindowGrid, WindowQueue
from tests.examples import examples
from tests.latest.windows.models import PlainWindowQueue

KEYS = "abc"


@dataclass(frozen=True)
class Setting:
    """Windows, either in whole ticks or on a time line that is finer than anything they are made of."""

    size: int
    slide: int
    ticks: bool
    semantics: WindowSemantics
    order: KeyOrder
    block_size: int
    page_size: int

    def queue(self) -> WindowQueue:
        return WindowQueue(
            PagePool(),
            ("int", "object"),
            grid=WindowGrid(float(self.size), float(self.slide), 1.0 if self.ticks else 0.0),
            semantics=self.semantics,
            order=self.order,
            block_size=self.block_size,
            page_size=self.page_size,
        )

    def model(self) -> PlainWindowQueue:
        return PlainWindowQueue(
            float(self.size), float(self.slide), 1.0 if self.ticks else 0.0, self.semantics, self.order
        )


SETTINGS = st.builds(
    Setting,
    size=st.integers(1, 5),
    slide=st.integers(1, 6),
    ticks=st.booleans(),
    semantics=st.sampled_from(list(WindowSemantics)),
    order=st.sampled_from([KeyOrder.FIFO, KeyOrder.IN_PLACE]),
    block_size=st.integers(1, 3),
    page_size=st.integers(1, 3),
)
ARRIVAL = st.tuples(st.sampled_from(KEYS), st.sampled_from([0, 1, 1, 1, 2, 3, 9]))
"""A key, and how many quarters of a unit (or ticks) its time goes on."""
OPERATIONS = st.lists(st.one_of(ARRIVAL, ARRIVAL, st.integers(1, 3)), max_size=40)
"""Arrivals, and how often to dequeue."""


class Arrivals:
    """Tuples that no other is equal to, each with a tag of its own."""

    def __init__(self, setting: Setting) -> None:
        self.step = 1.0 if setting.ticks else 0.25
        self.times = {key: number * 2.0 for number, key in enumerate(KEYS)}
        self.tags = 0

    def next(self, key: str, steps: int) -> StreamTuple:
        self.times[key] += steps * self.step
        self.tags += 1
        return StreamTuple(self.times[key], key, (self.tags, f"value {self.tags}"), self.tags)


def check_memory(setting: Setting, queue: WindowQueue, model: PlainWindowQueue) -> None:
    """What is stored is what the model says, in no more blocks and pages than it takes."""
    stored = 0
    for key in model.keys:
        assert list(queue.stored(key)) == model.stored(key)
        stored += len(model.stored(key))
    assert queue.stored_tuples == stored
    assert math.ceil(stored / setting.block_size) <= queue.use.used <= stored, "every block holds a tuple"
    pages = math.ceil(queue.use.used / setting.page_size)
    assert queue.use.allocated == pages * setting.page_size


def check_keys(queue: WindowQueue, model: PlainWindowQueue) -> None:
    assert len(queue) == len(model.waiting)
    assert queue.oldest_pending() == min(model.since.values(), default=None)
    for key in model.keys:
        assert queue.waiting_since(key) == model.since.get(key)
        assert (KeyState.WAIT in queue.states(key)) == (key in model.waiting)
        assert (KeyState.READY in queue.states(key)) == (key in model.processing)
        assert (KeyState.IDLE in queue.states(key)) == (key in model.idle)


@given(SETTINGS, OPERATIONS)
@settings(max_examples=examples(100))
def test_tuple_by_tuple_it_serves_what_the_model_serves_and_stores_no_more(
    setting: Setting, operations: list[tuple[str, int] | int]
) -> None:
    queue, model, arrivals = setting.queue(), setting.model(), Arrivals(setting)
    left: Counter[int] = Counter()
    opened: dict[str, int] = {}
    for moment, operation in enumerate(operations):
        now = 1000.0 + moment
        if isinstance(operation, tuple):
            item = arrivals.next(*operation)
            model.enqueue(item, now)
            left.update(queue.enqueue(item, now))
        for _ in range(operation if isinstance(operation, int) else 0):
            marked, expected = queue.dequeue_marked(now), model.dequeue()
            if marked is None or expected is None:
                assert marked is None
                assert expected is None
                continue
            key, number, item_expected, closes = expected
            assert (marked.key, marked.item, marked.closes) == (key, item_expected, closes)
            assert (marked.window.start, marked.window.end) == model.span(number)
            if marked.mark is Mark.OPENS:
                assert opened.get(key, -1000) < number, "windows of a key only go on"
                opened[key] = number
            assert opened[key] == number, "a tuple is for the window that was opened last"
            left.update(marked.released)
        check_memory(setting, queue, model)
        check_keys(queue, model)
        there = [item.tag for key in model.keys for item in model.stored(key)]
        assert left + Counter(there) == Counter(range(1, arrivals.tags + 1)), "each tag comes back once"


@given(SETTINGS, OPERATIONS)
@settings(max_examples=examples(100))
def test_whole_windows_are_complete_and_hold_exactly_what_came_within_them(
    setting: Setting, operations: list[tuple[str, int] | int]
) -> None:
    queue, model, arrivals = setting.queue(), setting.model(), Arrivals(setting)
    left: Counter[int] = Counter()
    for moment, operation in enumerate(operations):
        now = 1000.0 + moment
        if isinstance(operation, tuple):
            item = arrivals.next(*operation)
            model.enqueue(item, now)
            left.update(queue.enqueue(item, now))
        for _ in range(operation if isinstance(operation, int) else 0):
            there_is_one = queue.oldest_complete() is not None
            served, expected = queue.dequeue_window(now), model.dequeue_window()
            assert there_is_one == (served is not None)
            if served is None or expected is None:
                assert served is None
                assert expected is None
                continue
            key, number, tuples = expected
            assert (served.key, list(served.tuples)) == (key, tuples)
            assert (served.start, served.end) == model.span(number)
            left.update(served.released)
        check_memory(setting, queue, model)
        check_keys(queue, model)
        there = [item.tag for key in model.keys for item in model.stored(key)]
        assert left + Counter(there) == Counter(range(1, arrivals.tags + 1)), "each tag comes back once"


@given(SETTINGS.filter(lambda setting: setting.ticks), OPERATIONS)
@settings(max_examples=examples(60))
def test_in_ticks_a_buffer_holds_at_most_omega_plus_delta_minus_1_tuples(
    setting: Setting, operations: list[tuple[str, int] | int]
) -> None:
    queue, arrivals = setting.queue(), Arrivals(setting)
    most = setting.size + setting.slide - 1
    assert queue.grid.most_buffered == most
    if setting.semantics is WindowSemantics.LAZY:
        most += setting.size - 1  # the rest of the committed window, where it does not overlap with the one that waits
    for moment, operation in enumerate(operations):
        if isinstance(operation, tuple):
            queue.enqueue(arrivals.next(*operation), float(moment))
        else:
            queue.dequeue_many(operation, float(moment))
        assert all(len(queue.stored(key)) <= most for key in KEYS)


@given(SETTINGS.filter(lambda setting: setting.ticks), OPERATIONS)
@settings(max_examples=examples(60))
def test_if_whole_windows_are_served_that_bound_holds_for_lazy_and_eager_has_one_more(
    setting: Setting, operations: list[tuple[str, int] | int]
) -> None:
    queue, arrivals = setting.queue(), Arrivals(setting)
    eager = setting.semantics is WindowSemantics.EAGER
    for moment, operation in enumerate(operations):
        if isinstance(operation, tuple):
            queue.enqueue(arrivals.next(*operation), float(moment))
        else:
            queue.dequeue_window(float(moment))
        assert all(len(queue.stored(key)) <= setting.size + setting.slide - 1 + eager for key in KEYS)


@given(SETTINGS.filter(lambda setting: not setting.ticks and setting.semantics is WindowSemantics.LAZY), OPERATIONS)
@settings(max_examples=examples(60))
def test_without_ticks_a_lazy_buffer_holds_what_fits_into_a_window_and_a_slide(
    setting: Setting, operations: list[tuple[str, int] | int]
) -> None:
    queue, arrivals = setting.queue(), Arrivals(setting)
    for moment, operation in enumerate(operations):
        if isinstance(operation, tuple):
            queue.enqueue(arrivals.next(*operation), float(moment))
        else:
            queue.dequeue_window(float(moment))
        for key in KEYS:
            assert len(queue.stored(key)) <= (setting.size + setting.slide) / arrivals.step, "as many as fit in"


@given(SETTINGS, OPERATIONS)
@example(  # a tuple takes the place of one that was served, and is replaced itself
    Setting(2, 1, False, WindowSemantics.EAGER, KeyOrder.IN_PLACE, 1, 1),
    [("b", 0), 1, ("b", 1), ("b", 3), 1, 1, ("b", 0), ("b", 0)],
)
@settings(max_examples=examples(60))
def test_every_tuple_is_served_superseded_or_there(setting: Setting, operations: list[tuple[str, int] | int]) -> None:
    queue, arrivals = setting.queue(), Arrivals(setting)
    served: set[int] = set()
    for moment, operation in enumerate(operations):
        if isinstance(operation, tuple):
            queue.enqueue(arrivals.next(*operation), float(moment))
        else:
            served.update(item.tag for item in queue.dequeue_many(operation, float(moment)))
    there = {item.tag for key in KEYS for item in queue.stored(key)}
    assert queue.counts.enqueued == arrivals.tags
    assert queue.counts.superseded == arrivals.tags - len(served | there)
    fates = queue.take_fates()
    assert fates.served == Counter(served)
    assert set(fates.superseded) == set(range(1, arrivals.tags + 1)) - served - there
    assert queue.counts.superseded == fates.superseded.total()
