"""The queue against a list that is sorted anew each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from freshtide.scheduling import Candidate, Fifo, MaxBenefit
from freshtide.scheduling.ready import ReadyQueue

TABLES = ("a", "b", "c", "d")
CANDIDATES = st.builds(
    Candidate,
    table=st.sampled_from(TABLES),
    priority=st.sampled_from([1.0, 2.0]),
    released_at=st.integers(0, 2).map(float),
    delta=st.integers(0, 3).map(float),
    cost=st.sampled_from([1.0, 2.0]),
    upto=st.integers(0, 3).map(float),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), CANDIDATES),
        st.tuples(st.just("put again"), st.integers(0, 5)),
        st.tuples(st.just("withdraw"), st.sampled_from(TABLES)),
        st.tuples(st.just("pop"), st.none()),
        st.tuples(st.just("best"), st.integers(0, 5)),
    ),
    max_size=40,
)


class SortedList:
    """One candidate per table, looked through from front to back whenever it is asked."""

    def __init__(self, ordering: Fifo | MaxBenefit) -> None:
        self._ordering = ordering
        self._waiting: dict[str, Candidate] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, candidate: Candidate) -> None:
        self._waiting[candidate.table] = candidate

    def withdraw(self, table: str) -> None:
        self._waiting.pop(table, None)

    def pop(self) -> Candidate | None:
        return self._waiting.pop(self.best(1)[0].table) if self._waiting else None

    def best(self, count: int) -> list[Candidate]:
        ranked = sorted(self._waiting.values(), key=lambda c: (self._ordering.rank(c), c.table))
        return ranked[:count]


@given(STEPS, st.sampled_from([Fifo(), MaxBenefit()]))
def test_the_queue_does_what_a_sorted_list_would(steps: list[tuple[str, object]], ordering: Fifo | MaxBenefit) -> None:
    queue, model = ReadyQueue(ordering), SortedList(ordering)
    known: list[Candidate] = []
    for step, what in steps:
        if step == "put" and isinstance(what, Candidate):
            known.append(what)
            queue.put(what)
            model.put(what)
        elif step == "put again" and isinstance(what, int) and known:
            queue.put(known[what % len(known)])
            model.put(known[what % len(known)])
        elif step == "withdraw" and isinstance(what, str):
            queue.withdraw(what)
            model.withdraw(what)
        elif step == "pop":
            assert queue.pop() == model.pop()
        elif step == "best" and isinstance(what, int):
            assert queue.best(what) == model.best(what)
        assert len(queue) == len(model)
    assert queue.best(len(TABLES) + 1) == model.best(len(TABLES) + 1)


def test_a_table_that_is_put_a_thousand_times_waits_once_with_its_newest_candidate() -> None:
    queue, model = ReadyQueue(MaxBenefit()), SortedList(MaxBenefit())
    for step in range(1_000):
        for table in TABLES:
            delta = float((step * 7 + ord(table)) % 100)
            candidate = Candidate(table=table, priority=1.0, released_at=0.0, delta=delta, cost=1.0, upto=float(step))
            queue.put(candidate)
            model.put(candidate)
    assert [queue.pop() for _ in range(len(TABLES) + 1)] == [model.pop() for _ in range(len(TABLES) + 1)]
