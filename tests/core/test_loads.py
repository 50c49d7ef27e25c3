from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Feed, FeedContent
from freshtide.core.loads import LoadPlan, plan_load

from .declared import arrived, feed

SECOND = 1_000_000
PUNCTUATED = feed(punctuation="landing/*.mark")
LENIENT = feed(lateness=10.0)
PLAIN = feed()
REPLACED = feed(content=FeedContent.NEWEST)


def plan(
    of: Feed,
    *files: Arrival,
    upto: float | None = None,
    freshness: int | None = None,
    safe: int | None = None,
    most: int | None = None,
) -> LoadPlan:
    return plan_load(of, files, upto=upto, freshness=freshness, safe=safe, most=most)


def loaded(of: LoadPlan) -> list[int]:
    return [item.arrival.id for item in of.items]


def late_by_file(of: LoadPlan) -> dict[int, int | None]:
    return {item.arrival.id: item.late_upto for item in of.items}


def test_files_are_loaded_in_the_order_of_their_time_stamps_then_of_their_names() -> None:
    files = [arrived(1, 30.0), arrived(2, 10.0, path="/b"), arrived(3, 10.0, path="/a"), arrived(4, 20.0)]
    assert loaded(plan(PLAIN, *files)) == [3, 2, 4, 1]


def test_files_that_name_no_time_come_first_even_before_the_epoch() -> None:
    assert loaded(plan(PLAIN, arrived(1, -50.0), arrived(2, None), arrived(3, 5.0))) == [2, 1, 3]


def test_a_load_takes_what_is_stamped_up_to_its_goal() -> None:
    of = plan(PLAIN, arrived(1, 10.0), arrived(2, 20.0), arrived(3, 30.0), upto=20.0)
    assert loaded(of) == [1, 2]
    assert of.freshness == 20 * SECOND


def test_a_file_that_names_no_time_is_taken_whatever_the_goal() -> None:
    assert loaded(plan(PLAIN, arrived(1, None), arrived(2, -50.0), upto=-50.0)) == [1, 2]


def test_most_bounds_how_many_files_a_load_takes_oldest_first() -> None:
    of = plan(PLAIN, *(arrived(n, float(n)) for n in range(1, 8)), most=3)
    assert loaded(of) == [1, 2, 3]
    assert of.freshness == of.safe == 3 * SECOND


def test_nothing_pending_leaves_freshness_where_it_is() -> None:
    of = plan(LENIENT, freshness=7, safe=3)
    assert (of.arrivals, of.freshness, of.safe) == ((), 7, 3)


def test_freshness_never_goes_back() -> None:
    of = plan(LENIENT, arrived(1, 5.0), freshness=50 * SECOND, safe=40 * SECOND)
    assert (of.freshness, of.safe) == (50 * SECOND, 40 * SECOND)


def test_safe_freshness_stays_behind_by_the_lateness() -> None:
    of = plan(LENIENT, arrived(1, 100.0))
    assert (of.freshness, of.safe) == (100 * SECOND, 90 * SECOND)


def test_a_file_within_the_lateness_is_in_time_and_beyond_it_late() -> None:
    late = late_by_file(plan(LENIENT, arrived(2, 95.0), freshness=100 * SECOND, safe=90 * SECOND))
    assert late == {2: 90 * SECOND}


def test_without_lateness_and_punctuation_no_row_is_late() -> None:
    of = plan(PLAIN, arrived(1, 10.0), arrived(2, 20.0), freshness=50 * SECOND, safe=50 * SECOND)
    assert late_by_file(of) == {1: None, 2: None}


def test_with_punctuation_only_it_says_what_is_safe() -> None:
    of = plan(PUNCTUATED, arrived(1, 100.0))
    assert (of.freshness, of.safe) == (100 * SECOND, None)
    of = plan(PUNCTUATED, arrived(1, 100.0), arrived(2, 60.0, mark=True))
    assert (of.freshness, of.safe) == (100 * SECOND, 60 * SECOND)
    assert [mark.id for mark in of.punctuation] == [2]


def test_a_punctuation_waits_until_every_file_that_came_before_it_is_loaded() -> None:
    files = [arrived(1, 100.0), arrived(2, 50.0), arrived(3, 100.0, mark=True), arrived(4, 200.0)]
    assert plan(PUNCTUATED, *files, upto=99.0).punctuation == ()
    assert plan(PUNCTUATED, *files, upto=99.0).safe is None
    of = plan(PUNCTUATED, *files, upto=100.0)
    assert [mark.id for mark in of.punctuation] == [3]
    assert of.safe == 100 * SECOND


def test_a_file_that_breaks_the_promise_of_a_punctuation_is_late() -> None:
    late = late_by_file(plan(PUNCTUATED, arrived(1, 10.0), arrived(2, 50.0, mark=True), arrived(3, 20.0)))
    assert late == {1: None, 3: 50 * SECOND}


def test_a_broken_promise_makes_a_file_late_even_while_the_punctuation_still_waits() -> None:
    files = [arrived(1, 100.0), arrived(2, 80.0, mark=True), arrived(3, 50.0)]
    assert late_by_file(plan(PUNCTUATED, *files, most=1)) == {3: 80 * SECOND}


FEEDS = st.sampled_from(
    [PLAIN, LENIENT, PUNCTUATED, feed(lateness=0.0), feed(lateness=30.0, punctuation="landing/*.mark")]
)


@st.composite
def arrivals(draw: st.DrawFn) -> list[Arrival]:
    stamps = draw(st.lists(st.tuples(st.integers(-5, 100), st.integers(0, 4)), max_size=12))
    files = []
    for number, (stamp, kind) in enumerate(stamps, start=1):
        if kind == 0:
            files.append(arrived(number, float(stamp), mark=True))
        else:
            files.append(arrived(number, None if kind == 1 else float(stamp)))
    return files


@given(FEEDS, arrivals(), st.lists(st.integers(1, 4), max_size=12))
def test_how_files_are_batched_changes_neither_what_is_late_nor_where_the_table_gets(
    of: Feed, files: list[Arrival], batches: list[int]
) -> None:
    at_once = plan_load(of, files, upto=None, freshness=None, safe=None)
    freshness = safe = None
    pending, late, order = list(files), {}, []
    for most in [*batches, None]:
        step = plan_load(of, pending, upto=None, freshness=freshness, safe=safe, most=most)
        late.update(late_by_file(step))
        order += loaded(step)
        taken = {file.id for file in step.arrivals}
        pending = [file for file in pending if file.id not in taken]
        assert safe is None or (step.safe is not None and step.safe >= safe), "safe freshness is a promise"
        freshness, safe = step.freshness, step.safe
    assert pending == []
    assert order == loaded(at_once)
    assert late == late_by_file(at_once)
    assert (freshness, safe) == (at_once.freshness, at_once.safe)


@given(FEEDS, arrivals().flatmap(lambda files: st.tuples(st.just(files), st.permutations(files))))
def test_a_plan_does_not_hang_on_the_order_in_which_it_is_told_of_files(
    of: Feed, told: tuple[list[Arrival], list[Arrival]]
) -> None:
    assert plan(of, *told[0]) == plan(of, *told[1])


@given(FEEDS, arrivals(), st.integers(-5, 100))
def test_every_file_is_taken_once_by_a_load_without_bounds(of: Feed, files: list[Arrival], upto: int) -> None:
    assert sorted(file.id for file in plan(of, *files).arrivals) == [file.id for file in files]
    first = plan(of, *files, upto=float(upto))
    rest = [file for file in files if file not in first.arrivals]
    second = plan(of, *rest, freshness=first.freshness, safe=first.safe)
    assert sorted(file.id for file in (*first.arrivals, *second.arrivals)) == [file.id for file in files]


def test_of_files_that_each_hold_everything_the_newest_is_loaded_and_those_before_it_are_done_with() -> None:
    of = plan(REPLACED, arrived(1, 30.0), arrived(2, 10.0), arrived(3, 20.0), freshness=5 * SECOND)
    assert (loaded(of), [file.id for file in of.superseded], of.replaces) == ([1], [2, 3], True)
    assert of.freshness == of.safe == 30 * SECOND


def test_of_files_that_each_hold_everything_none_is_loaded_that_is_older_than_what_is_there() -> None:
    of = plan(REPLACED, arrived(1, 30.0), freshness=40 * SECOND)
    assert (loaded(of), [file.id for file in of.superseded], of.replaces) == ([], [1], False)
    assert of.freshness == 40 * SECOND


def test_of_files_that_each_hold_everything_one_that_is_away_holds_back_no_newer_one() -> None:
    away = replace(arrived(2, 20.0), state=ArrivalState.AWAY)
    of = plan(REPLACED, arrived(1, 10.0), away, arrived(3, 30.0))
    assert (loaded(of), [file.id for file in of.superseded]) == ([3], [1, 2])
    of = plan(REPLACED, arrived(1, 10.0), away)
    assert (loaded(of), of.superseded) == ([1], ()), "the other one is still to come"


def test_no_row_of_a_reference_table_is_late() -> None:
    files = [arrived(1, 50.0), arrived(2, 20.0)]
    of = plan_load(LENIENT, files, upto=None, freshness=60 * SECOND, safe=55 * SECOND, is_reference=True)
    assert set(late_by_file(of).values()) == {None}
    assert of.safe == of.freshness
