"""A queue of windows that is put down and taken up again goes on as if nothing had happened."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows import WindowQueue
from tests.examples import examples
from tests.latest.windows.test_queue_properties import ARRIVAL, SETTINGS, Setting

Steps = list[tuple[str, int] | None]
Served = set[tuple[str, float, tuple[object, ...]]]


def drained(queue: WindowQueue, now: float) -> Served:
    """All windows that can be served, in whatever order; then those that have started are committed to."""
    served: Served = set()
    while (window := queue.dequeue_window(now)) is not None:
        served.add((str(window.key), window.start, tuple(item.values[0] for item in window.tuples)))
    queue.commit_started()
    return served


def taken_up(queue: WindowQueue, setting: Setting, now: float) -> WindowQueue:
    again = setting.queue()
    for standing in queue.standings():
        again.restore(standing, now)
    return again


def told(queue: WindowQueue) -> Counter[str]:
    """What has become of tuples, as the queue tells it."""
    found = queue.take_fates()
    return Counter(served=found.served.total(), superseded=found.superseded.total())


@settings(max_examples=examples(300))
@given(setting=SETTINGS, steps=st.lists(st.none() | ARRIVAL, max_size=40), stops=st.sets(st.integers(0, 40)))
def test_what_is_put_down_at_any_moment_goes_on_as_it_was(setting: Setting, steps: Steps, stops: set[int]) -> None:
    one, other = setting.queue(), setting.queue()
    fates: Counter[str] = Counter()
    clock: dict[str, int] = {}
    for number, step in enumerate(steps):
        if step is None:
            assert drained(one, number) == drained(other, number)
        else:
            key, gap = step
            clock[key] = clock.get(key, 0) + gap
            for queue in (one, other):
                queue.enqueue(StreamTuple(float(clock[key]), key, (number, None)), number)
        if number in stops:
            fates += told(other)
            other = taken_up(other, setting, number)
    for key, last in clock.items():
        for queue in (one, other):
            queue.enqueue(StreamTuple(last + 100.0, key, (-1, None)), len(steps))
    assert drained(one, len(steps)) == drained(other, len(steps))
    assert one.stored_tuples == other.stored_tuples
    assert told(one) == fates + told(other)
