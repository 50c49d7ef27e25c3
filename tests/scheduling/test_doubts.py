"""A table that looks dear is judged anew, even on a machine that is never idle."""

from __future__ import annotations

from dataclasses import replace

from .bench import PLAIN, Bench, arrival, table

CHOPPED = replace(PLAIN, chopping=3.0)
OTHERS = ("b", "c")


def started_under_overload(bench: Bench, *, rounds: int, **seconds: float) -> list[str]:
    """Every second data comes for each table and an update ends: more than one track can do."""
    started: list[str] = []
    for number in range(rounds):
        bench.at(bench.now + 1.0)
        bench.happens(*(arrival(name, bench.now) for name in ("a", *OTHERS)))
        (name,) = bench.running
        if number:
            bench.finishes(name, seconds=seconds.get(name, 1.0))
            started += bench.running
    return started


def with_one_slow_update_of_a(*, priority: float = 1.0) -> Bench:
    tables = [table(name, freshness=0.0, safe=0.0, priority=priority) for name in OTHERS]
    bench = Bench(table("a", freshness=0.0, safe=0.0), *tables, policy=CHOPPED)
    bench.at(1.0).arrives("a", 1.0)
    bench.finishes("a", seconds=10.0)
    return bench


def test_one_slow_update_does_not_keep_a_table_waiting_for_ever() -> None:
    started = started_under_overload(with_one_slow_update_of_a(), rounds=300)
    first = started.index("a")
    assert first > 10, "for a while it is believed"
    assert started[first:].count("a") > len(started[first:]) / 4, "and then it is one of three"


def test_a_table_that_is_dear_indeed_is_tried_now_and_then() -> None:
    started = started_under_overload(with_one_slow_update_of_a(), rounds=300, a=10.0)
    assert 2 <= started.count("a") <= 15


def test_a_backlog_from_before_the_start_is_no_reason_to_doubt_what_was_learnt_before_it() -> None:
    tables = [
        table(name, freshness=0.0, safe=0.0, alpha=alpha) for name, alpha in (("a", 10.0), ("b", 1.0), ("c", 1.0))
    ]
    bench = Bench(*tables, policy=CHOPPED)
    backlog = [float(number) for number in range(1, 51)]
    bench.at(50.0).happens(*(arrival(name, stamp) for name in ("a", *OTHERS) for stamp in backlog))
    assert list(bench.running) == ["b"]
    started = started_under_overload(bench, rounds=300, a=10.0)
    assert started.index("a") > 10
    assert 2 <= started.count("a") <= 15


def test_doubts_do_not_overtake_priorities() -> None:
    started = started_under_overload(with_one_slow_update_of_a(priority=10.0), rounds=300)
    assert "a" not in started
