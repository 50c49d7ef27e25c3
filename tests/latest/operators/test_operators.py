"""Operators under update semantics, and continuous queries made of them (Moga et al. 2009, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.latest.operators import (
    Aggregate,
    ContinuousQuery,
    Element,
    Filter,
    Join,
    Map,
    OperatorError,
    Step,
    Union,
    UnknownStreamError,
    count,
    maximum,
    mean,
    minimum,
    total,
)
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows import CommittedWindow, WindowGrid

NINE, TEN = 9 * 3600.0, 10 * 3600.0
GRID = WindowGrid(3.0, 1.0, tick=1.0)


def quote(time: float, price: float, symbol: str = "IBM") -> StreamTuple:
    return StreamTuple(time, symbol, (price,))


def ask(query: ContinuousQuery, *elements: tuple[str, Element]) -> list[Element]:
    return [result for stream, element in elements for result in query.push(stream, element)]


def one(operator: Filter | Map | Aggregate, elements: Iterable[Element]) -> list[Element]:
    return ask(ContinuousQuery(Step(operator, "s")), *(("s", element) for element in elements))


def window(number: int, *prices: float) -> CommittedWindow:
    start = GRID.start(number)
    return CommittedWindow("IBM", GRID.window(number), tuple(quote(start + n, p) for n, p in enumerate(prices)))


def test_a_filter_drops_what_does_not_satisfy_its_predicate() -> None:
    dear = Filter(lambda item: item.values[0] > 24)  # type: ignore[operator]  # prices are numbers
    assert one(dear, [quote(1, 24), quote(2, 25)]) == [quote(2, 25)]


def test_a_map_gives_new_values_and_retains_key_time_and_tag() -> None:
    tagged = quote(1, 24)._replace(tag=7)
    cents = Map(lambda item: (int(item.values[0] * 100), "cents"))  # type: ignore[operator]
    assert one(cents, [tagged]) == [StreamTuple(1, "IBM", (2400, "cents"), 7)]


def test_an_aggregate_is_over_exactly_the_tuples_of_the_window_that_the_marks_open() -> None:
    every = Aggregate(count(), total(0), minimum(0), maximum(0), mean(0))
    results = one(every, [*window(1, 4.0, 2.0, 6.0).marked(GRID), *window(7, 1.0, 1.0, 4.0).marked(GRID)])
    assert results == [
        StreamTuple(4.0, "IBM", (3, 12.0, 2.0, 6.0, 4.0)),
        StreamTuple(10.0, "IBM", (3, 6.0, 1.0, 4.0, 2.0)),
    ], "stamped with the end of the window"
    assert every.open_windows == 0


def test_an_aggregate_says_nothing_before_its_window_is_complete() -> None:
    counting = Aggregate(count())
    first, second, _last = window(1, 4.0, 2.0, 6.0).marked(GRID)
    assert one(counting, [first, second]) == []
    assert counting.open_windows == 1


def test_a_window_whose_first_and_last_tuple_are_filtered_away_is_opened_and_closed_without_them() -> None:
    query = ContinuousQuery(Step(Aggregate(total(0)), Step(Filter(lambda item: item.values[0] == 2.0), "s")))
    elements = [("s", marked) for marked in window(1, 4.0, 2.0, 6.0).marked(GRID)]
    assert ask(query, *elements) == [StreamTuple(4.0, "IBM", (2.0,))]


def test_a_window_that_is_filtered_away_altogether_has_no_result() -> None:
    query = ContinuousQuery(Step(Aggregate(count()), Step(Filter(lambda _item: False), "s")))
    assert ask(query, *(("s", marked) for marked in window(1, 4.0, 2.0, 6.0).marked(GRID))) == []


def test_windows_can_be_mapped_before_they_are_aggregated() -> None:
    doubled = Map(lambda item: (2 * item.values[0],))  # type: ignore[operator]
    query = ContinuousQuery(Step(Aggregate(total(0)), Step(doubled, "s")))
    assert ask(query, *(("s", m) for m in window(1, 4.0, 2.0).marked(GRID))) == [StreamTuple(4.0, "IBM", (12.0,))]


def test_a_union_keeps_one_of_two_tuples_at_the_same_time() -> None:
    query = ContinuousQuery(Step(Union(), "a", "b"))
    assert ask(query, ("a", quote(NINE, 24)), ("b", quote(NINE, 25))) == [quote(NINE, 24)]


def test_a_union_does_not_wait_and_drops_what_comes_too_late() -> None:
    query = ContinuousQuery(Step(Union(), "a", "b"))
    late_and_new = (("b", quote(NINE, 25)), ("b", quote(NINE, 70, "GOOG")))
    assert ask(query, ("a", quote(TEN, 24)), *late_and_new) == [quote(TEN, 24), quote(NINE, 70, "GOOG")]


def test_a_union_delivers_the_youngest_of_what_waits_in_its_inputs() -> None:
    union = Union()
    waiting = [quote(NINE, 24), quote(TEN, 25), quote(NINE, 70, "GOOG"), quote(NINE, 71, "GOOG")]
    assert union.process_pending(waiting) == [quote(TEN, 25), quote(NINE, 70, "GOOG")]
    assert union.process_pending(waiting) == [], "all of it was superseded by what was delivered"


@given(
    arrivals=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 9), st.integers(0, 3)))
)
def test_a_union_gives_the_times_of_each_key_in_order_and_ends_with_the_youngest(
    arrivals: list[tuple[str, str, int, int]],
) -> None:
    query = ContinuousQuery(Step(Union(), "a", "b"))
    results = ask(query, *((stream, quote(time, price, key)) for stream, key, time, price in arrivals))
    for key in "xyz":
        served = [result.time for result in results if isinstance(result, StreamTuple) and result.key == key]
        assert all(earlier < later for earlier, later in pairwise(served))
        assert served[-1:] == sorted(time for _, arrived, time, _ in arrivals if arrived == key)[-1:]


def test_a_join_pairs_the_newest_of_both_sides_of_a_key() -> None:
    query = ContinuousQuery(Step(Join(), "bids", "asks"))
    arrivals = [("bids", quote(1, 24)), ("asks", quote(2, 26, "GOOG")), ("asks", quote(3, 25)), ("bids", quote(4, 23))]
    assert ask(query, *arrivals) == [StreamTuple(3, "IBM", (24, 25)), StreamTuple(4, "IBM", (23, 25))]


def test_a_join_pairs_only_tuples_that_coincide_in_its_window() -> None:
    query = ContinuousQuery(Step(Join(window=2.0), "bids", "asks"))
    assert ask(query, ("bids", quote(1, 24)), ("asks", quote(3, 25))) == []
    assert ask(query, ("bids", quote(2, 23))) == [StreamTuple(3, "IBM", (23, 25))]


def test_a_join_delivers_the_most_recent_match_if_there_are_several() -> None:
    cheaper = Join(window=10.0, predicate=lambda bid, offer: bid.values < offer.values)
    query = ContinuousQuery(Step(cheaper, "bids", "asks"))
    offers = [("asks", quote(1, 25)), ("asks", quote(2, 26)), ("asks", quote(3, 20))]
    assert ask(query, *offers, ("bids", quote(4, 24))) == [StreamTuple(4, "IBM", (24, 26))], "20 is no match, 25 older"


def test_a_result_of_a_join_never_goes_back_in_time() -> None:
    alike = Join(window=10.0, predicate=lambda left, right: left.values == right.values)
    query = ContinuousQuery(Step(alike, "left", "right"))
    old = [("right", quote(1, 1)), ("right", quote(8, 2)), ("left", quote(2, 2))]
    assert ask(query, *old) == [StreamTuple(8, "IBM", (2, 2))]
    assert ask(query, ("left", quote(3, 1))) == [], "it would be stamped 3, after 8"


def test_operators_are_composed_into_one_query() -> None:
    highs = Step(Aggregate(maximum(0)), Step(Filter(lambda item: item.key != "TEST"), "ticks"))
    compared = Step(Join(), highs, "targets")
    query = ContinuousQuery(Step(Map(lambda item: (item.values[0] > item.values[1],)), compared))  # type: ignore[operator]
    assert query.streams == {"ticks", "targets"}
    assert query.push("targets", quote(0, 5.0)) == []
    ticks = [("ticks", marked) for marked in window(1, 4.0, 2.0, 6.0).marked(GRID)]
    assert ask(query, *ticks) == [StreamTuple(4.0, "IBM", (True,))]


def test_a_step_that_two_others_read_works_once_for_both() -> None:
    highs = Step(Aggregate(maximum(0)), "ticks")
    query = ContinuousQuery(Step(Join(), highs, Step(Map(lambda item: ("same", *item.values)), highs)))
    ticks = [("ticks", marked) for marked in window(1, 4.0, 2.0, 6.0).marked(GRID)]
    assert ask(query, *ticks) == [StreamTuple(4.0, "IBM", (6.0, "same", 6.0))]


def test_operators_refuse_what_they_cannot_work_on_and_say_what_to_do() -> None:
    single, of_a_window = quote(1, 24), next(window(1, 4.0).marked(GRID))
    for operator, element in ((Aggregate(count()), single), (Union(), of_a_window)):
        with pytest.raises(OperatorError) as refused:
            ContinuousQuery(Step(operator, "s")).push("s", element)
        assert refused.value.way_out


def test_an_operator_with_too_few_inputs_is_refused() -> None:
    with pytest.raises(OperatorError, match="join was given 1"):
        Step(Join(), "alone")


def test_a_stream_that_the_query_does_not_read_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownStreamError, match="Did you mean 'ticks'"):
        ContinuousQuery(Step(Union(), "ticks")).push("tick", quote(1, 24))
