"""At most so many periods at a time (Golab et al. 2011, section 3.4)."""

from __future__ import annotations

from dataclasses import replace

from .bench import PLAIN, Bench, arrival, table

CHOPPED = replace(PLAIN, chopping=3.0)


def test_an_update_goes_up_to_the_largest_time_stamp_within_three_periods() -> None:
    bench = Bench(table("a", period=10.0, freshness=0.0, safe=0.0), policy=CHOPPED)
    bench.arrives("a", 10.0, 20.0, 30.0, 40.0, 50.0)
    assert bench.running["a"].upto == 30.0
    assert bench.finishes("a") == ["a"], "the rest follows at once if nothing is better"
    assert bench.running["a"].upto == 50.0


def test_an_update_takes_at_least_the_first_file() -> None:
    bench = Bench(table("a", period=10.0, freshness=0.0, safe=0.0), policy=CHOPPED)
    bench.arrives("a", 70.0, 80.0)
    assert bench.running["a"].upto == 70.0


def test_a_time_stamp_just_three_periods_away_is_within() -> None:
    first = 3.7
    bench = Bench(table("a", period=0.1, freshness=first, safe=first), policy=CHOPPED)
    bench.arrives("a", *(first + number * 0.1 for number in range(1, 6)))
    assert bench.running["a"].upto == first + 3 * 0.1


def test_what_has_never_been_loaded_is_loaded_in_one_piece() -> None:
    bench = Bench(table("a", period=10.0), policy=CHOPPED)
    bench.arrives("a", *(10.0 * number for number in range(1, 100)))
    assert bench.running["a"].upto == 990.0


def test_a_backlog_that_is_found_bit_by_bit_at_the_first_load_is_not_chopped_either() -> None:
    bench = Bench(table("a", period=10.0), policy=CHOPPED)
    bench.arrives("a", 10.0)
    bench.arrives("a", *(10.0 * number for number in range(2, 100)))
    bench.finishes("a")
    assert bench.running["a"].upto == 990.0
    bench.arrives("a", *(10.0 * number for number in range(100, 200)))
    bench.finishes("a")
    assert bench.running["a"].upto == 1_990.0, "it has not caught up yet"
    bench.finishes("a")
    bench.arrives("a", *(10.0 * number for number in range(200, 300)))
    assert bench.running["a"].upto == 2_020.0


def test_a_table_whose_period_is_unknown_is_not_chopped() -> None:
    bench = Bench(table("a", period=None, freshness=0.0, safe=0.0), policy=CHOPPED)
    bench.arrives("a", 1_000.0, 2_000.0)
    assert bench.running["a"].upto == 2_000.0


def test_a_view_is_chopped_where_its_trailing_edge_has_been() -> None:
    bench = Bench(
        table("a", period=10.0, freshness=0.0, safe=0.0, priority=100.0),
        table("view", "a", period=10.0, freshness=0.0, safe=0.0),
        policy=CHOPPED,
    )
    bench.pauses("view")
    for stamp in (10.0, 20.0, 30.0, 40.0, 50.0):
        bench.arrives("a", stamp)
        bench.finishes("a")
    bench.resumes("view")
    assert bench.running["view"].upto == 30.0
    bench.finishes("view")
    assert bench.running["view"].upto == 50.0


def test_a_long_backlog_lets_better_updates_in_between() -> None:
    bench = Bench(
        table("backlog", alpha=1.0, beta=1.0, period=10.0, freshness=0.0, safe=0.0),
        table("dear", alpha=1.0, period=10.0, freshness=0.0, safe=0.0, priority=50.0),
        policy=CHOPPED,
    )
    bench.arrives("backlog", *(10.0 * number for number in range(1, 10)))
    bench.happens(arrival("dear", 10.0))
    assert bench.finishes("backlog") == ["dear"]
    assert bench.finishes("dear") == ["backlog"]


def test_what_a_failed_update_had_taken_is_taken_again() -> None:
    bench = Bench(table("a", period=10.0, freshness=0.0, safe=0.0), policy=CHOPPED)
    bench.arrives("a", 10.0, 20.0, 30.0, 40.0)
    bench.arrives("a", 15.0)
    bench.fails("a")
    bench.at(1_000.0).timer()
    assert bench.running["a"].upto == 30.0
    bench.finishes("a")
    assert bench.running["a"].upto == 40.0
    assert bench.finishes("a") == []
