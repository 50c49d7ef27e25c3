"""Admission: what is wrong with a tuple is told, counted, and does not stop the stream."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.updates.admission import Admission, RejectKind


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9))))
def test_per_key_the_times_that_are_taken_in_never_go_backwards(rows: list[tuple[str, int]]) -> None:
    admission = Admission()
    taken: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    for key, time in rows:
        rejection = admission.admit(time, key)
        if rejection is None:
            taken[key].append(time)
        else:
            assert rejection.kind is RejectKind.BACKWARDS
            assert time < taken[key][-1]
    assert all(times == sorted(times) for times in taken.values())
    assert all(admission.newest(key) == (times[-1] if times else None) for key, times in taken.items())
    assert admission.rejected.total() == len(rows) - sum(map(len, taken.values()))


@pytest.mark.parametrize(
    ("time", "key", "values", "kind", "words"),
    [
        (1.0, None, (1, 2.0, "x"), RejectKind.NO_KEY, "no update key"),
        (1.0, math.nan, (1, 2.0, "x"), RejectKind.NO_KEY, "no update key"),
        (1.0, ("IBM", None), (1, 2.0, "x"), RejectKind.NO_KEY, "no update key"),
        (1.0, ["IBM"], (1, 2.0, "x"), RejectKind.NO_KEY, r"key \['IBM'\] is not a plain value"),
        (None, "IBM", (1, 2.0, "x"), RejectKind.NO_TIME, "no time"),
        ("noon", "IBM", (1, 2.0, "x"), RejectKind.NOT_A_NUMBER, "time 'noon' is not a number"),
        (True, "IBM", (1, 2.0, "x"), RejectKind.NOT_A_NUMBER, "time True is not a number"),
        (math.inf, "IBM", (1, 2.0, "x"), RejectKind.NOT_A_NUMBER, "time inf is not a number"),
        (10**400, "IBM", (1, 2.0, "x"), RejectKind.NOT_A_NUMBER, "is not a number"),
        (1.0, "IBM", (1.5, 2.0, "x"), RejectKind.NOT_A_NUMBER, "Value 1 is 1.5 and not a whole number"),
        (1.0, "IBM", (1, None, "x"), RejectKind.NOT_A_NUMBER, "Value 2 is None and not a number"),
        (1.0, "GOOG", (1, 2.0, "x"), RejectKind.BACKWARDS, "time 1.0 is before 5.0, the newest of its key 'GOOG'"),
    ],
)
def test_a_bad_tuple_is_told_in_words_and_the_stream_goes_on(
    time: object, key: object, values: tuple[object, ...], kind: RejectKind, words: str
) -> None:
    admission = Admission(("int", "float", "object"), newest={"GOOG": 5.0})
    rejection = admission.admit(time, key, values)
    assert rejection is not None
    assert rejection.kind is kind
    assert re.search(words, rejection.reason)
    assert admission.rejected == {kind: 1}
    assert admission.admit(6.0, "GOOG", (1, 2.0, None)) is None
    assert admission.newest("IBM") is None


def test_of_two_tuples_with_the_same_time_both_are_taken_in() -> None:
    admission = Admission()
    assert admission.admit(1.0, "IBM") is None
    assert admission.admit(1.0, "IBM") is None
