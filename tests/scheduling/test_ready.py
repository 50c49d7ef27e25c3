"""The queues against a list that is sorted anew each time."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from freshtide.scheduling import Candidate
from freshtide.scheduling.orderings import Fifo, MaxBenefit, PrioritizedEdf, RandomChoice, RankedOrdering

TABLES = ("a", "b", "c", "d")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)),
        st.tuples(st.just("withdraw"), st.integers(0, 3), st.just(0), st.just(0)),
        st.tuples(st.just("best"), st.integers(0, 5), st.just(0), st.just(0)),
    ),
    max_size=40,
)


def candidate(place: int) -> Candidate:
    return Candidate(table=TABLES[place], place=place, priority=1.0 + place % 2, period=10.0)


@given(STEPS, st.sampled_from([Fifo(), MaxBenefit(), PrioritizedEdf()]))
def test_the_queue_does_what_a_sorted_list_would(
    steps: list[tuple[str, int, int, int]], ordering: RankedOrdering
) -> None:
    queue = ordering.queue()
    everyone = [candidate(place) for place in range(len(TABLES))]
    waiting: dict[int, Candidate] = {}

    def in_order() -> list[str]:
        return [c.table for c in sorted(waiting.values(), key=lambda c: (ordering.rank(c), c.place))]

    for step, number, delta, released_at in steps:
        if step == "put":
            put = waiting.setdefault(number, everyone[number])
            put.delta, put.released_at = float(delta), float(released_at)
            queue.put(put)
        elif step == "withdraw":
            waiting.pop(number, None)
            queue.withdraw(everyone[number])
        else:
            assert [entry[3].table for entry in queue.best(number)] == in_order()[:number]
        head = queue.head()
        assert ([] if head is None else [head[3].table]) == in_order()[:1]
        assert len(queue) == len(waiting)


def test_a_table_that_is_put_a_thousand_times_waits_once_with_its_newest_rank() -> None:
    queue = MaxBenefit().queue()
    everyone = [candidate(place) for place in range(len(TABLES))]
    for step in range(1_000):
        for each in everyone:
            each.delta = float((step * 7 + each.place * 31) % 100)
            queue.put(each)
    assert len(queue) == len(TABLES)
    last = {TABLES[place]: float((999 * 7 + place * 31) % 100) for place in range(len(TABLES))}
    assert {entry[3].table: entry[3].delta for entry in queue.best(9)} == last


def test_random_draws_evenly_within_a_queue_and_between_queues_by_their_length() -> None:
    ordering = RandomChoice(random.Random(3).random)
    lone, many = ordering.queue(), ordering.queue()
    lone.put(candidate(0))
    for place in (1, 2, 3):
        many.put(candidate(place))
    drawn: Counter[str] = Counter()
    for _ in range(4_000):
        heads = [head for head in (lone.head(), many.head()) if head is not None]
        drawn[min(heads)[3].table] += 1
    assert all(900 < drawn[table] < 1_100 for table in TABLES)
