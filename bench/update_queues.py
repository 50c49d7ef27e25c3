"""Update queues: tuples per second, the memory of a million keys, and how much of what is allocated is in use."""

from __future__ import annotations

import random
import resource
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean

from bench.results import Report
from freshtide.core.latest import KeyOrder
from freshtide.latest import (
    AppendQueue,
    ColumnKind,
    LatestQueue,
    NaiveMemory,
    PagedMemory,
    PagePool,
    StreamTuple,
    TupleCost,
    TupleQueue,
)

_VALUES: tuple[ColumnKind, ...] = ("float", "int")
_BATCH = 1_000
_SKEWS = (0.0, 0.3, 0.6, 0.9)
_LOADS = (2, 5, 10, 50, 100)
"""Figure 16 and 17: 20 to 1,000 arrivals a second, of which 10 are served."""


def run(folder: Path, *, quick: bool) -> Report:  # noqa: ARG001 - nothing is kept on disk
    report = Report(name="update-queues")
    # First, while the process is still small: the peak of its memory is that of the queue.
    _measure_memory(report, keys=100_000 if quick else 1_000_000)
    _measure_rates(report, tuples=50_000 if quick else 500_000, keys=10_000)
    _measure_use(report, results=100 if quick else 1_000)
    return report


def _measure_memory(report: Report, *, keys: int) -> None:
    before = _peak()
    queue = LatestQueue(PagePool(), _VALUES, cost=TupleCost(1e-6))
    begun = time.process_time()
    for first in range(0, keys, _BATCH):
        numbers = list(range(first, min(first + _BATCH, keys)))
        times = [float(number) for number in numbers]
        queue.enqueue_many([f"key {number}" for number in numbers], times, [times, numbers], times[0])
    rate = keys / (time.process_time() - begun)
    report.table(
        f"{keys:,} distinct keys with a time and two numbers each, their names included",
        ("", ""),
        [
            ("peak of the process, MB (goal: below 600 for a million)", _peak()),
            ("of that before the first tuple, MB", before),
            ("tuples per second, each of a new key", rate),
        ],
    )
    report.figures |= {"peak_mb": _peak(), "before_mb": before, "new_keys_per_second": rate}


def _measure_rates(report: Report, *, tuples: int, keys: int) -> None:
    """On one processor, each at its best of three: what others do on the machine is not what is measured."""
    rng = random.Random(1)
    cumulated = list(accumulate(1.0 / rank**0.9 for rank in range(1, keys + 1)))
    drawn = rng.choices([f"key {number}" for number in range(keys)], cum_weights=cumulated, k=tuples)
    items = [StreamTuple(float(number), key, (rng.random(), number)) for number, key in enumerate(drawn)]
    makes: dict[str, Callable[[], TupleQueue]] = {
        order.value: partial(LatestQueue, PagePool(), _VALUES, order=order, cost=TupleCost(1e-6)) for order in KeyOrder
    }
    makes["append"] = partial(AppendQueue, PagePool(), _VALUES)
    plain = max(_rate(tuples, partial(_into_dictionary, items)) for _ in range(3))
    rows = []
    for name, make in makes.items():
        single = max(_rate(tuples, partial(_one_by_one, make(), items)) for _ in range(3))
        many = max(_rate(tuples, partial(_in_batches, make(), items)) for _ in range(3))
        rows.append((name, single, many, plain / single))
        report.figures |= {f"{name}_per_second": single, f"{name}_many_per_second": many}
    report.table(
        f"Tuples enqueued per second, {keys:,} keys, Zipf 0.9 (goal: 200,000)",
        ("", "one by one", f"in batches of {_BATCH:,}", "times slower than a dictionary"),
        rows,
    )
    report.notes.append(f"An OrderedDict that keeps the newest tuple of each key takes {plain:,.0f} per second.")
    report.figures["dictionary_per_second"] = plain


def _rate(tuples: int, work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return tuples / (time.process_time() - begun)


def _into_dictionary(items: list[StreamTuple]) -> None:
    newest: OrderedDict[Hashable, StreamTuple] = OrderedDict()
    for item in items:
        newest[item.key] = item


def _one_by_one(queue: TupleQueue, items: list[StreamTuple]) -> None:
    enqueue = queue.enqueue
    for item in items:
        enqueue(item, item.time)


def _in_batches(queue: TupleQueue, items: list[StreamTuple]) -> None:
    for first in range(0, len(items), _BATCH):
        times, keys, values, _ = zip(*items[first : first + _BATCH], strict=True)
        queue.enqueue_many(keys, times, list(zip(*values, strict=True)), times[0])


def _measure_use(report: Report, *, results: int) -> None:
    """Section 7.3 of Moga et al. 2009: 100 keys, locations in use over locations allocated, after each operation."""
    rows, least = [], 1.0
    for theta in _SKEWS:
        paged = [_effective_use(theta, load, results, naive=False) for load in _LOADS]
        naive = [_effective_use(theta, load, results, naive=True) for load in _LOADS]
        least = min(least, *paged)
        rows.append((f"theta = {theta}", fmean(paged), min(paged), fmean(naive), min(naive)))
        report.figures[f"effective_use_{theta:g}"] = fmean(paged)
    report.table(
        f"Effective use of what is allocated, loads of {_LOADS[0]} to {_LOADS[-1]} (goal: above 0.95)",
        ("", "on demand, mean", "least", "naive, mean", "least"),
        rows,
    )
    report.figures["effective_use_least"] = least


def _effective_use(theta: float, load: int, results: int, *, naive: bool) -> float:
    memory = NaiveMemory if naive else PagedMemory
    queue = LatestQueue(PagePool(), _VALUES, order=KeyOrder.IN_PLACE, memory=memory)
    rng = random.Random(16)
    weights = list(accumulate(1.0 / rank**theta for rank in range(1, 101)))
    uses = []
    for moment in range(results):
        for key in rng.choices(range(100), cum_weights=weights, k=load):
            queue.enqueue(StreamTuple(float(moment), key, (0.5, moment)), float(moment))
            uses.append(queue.use.effective)
        queue.dequeue(float(moment))
        uses.append(queue.use.effective)
    return fmean(uses)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
