"""Admission: what is wrong with a tuple is told, counted, and does not stop the stream."""

from __future__ import annotations

import math
import re

import pytest

from freshtide.latest.admission import Admission, RejectKind


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
    ],
)
def test_a_bad_tuple_is_told_in_words_and_the_stream_goes_on(
    time: object, key: object, values: tuple[object, ...], kind: RejectKind, words: str
) -> None:
    admission = Admission(("int", "float", "object"))
    rejection = admission.admit(time, key, values)
    assert rejection is not None
    assert rejection.kind is kind
    assert re.search(words, rejection.reason)
    assert admission.rejected == {kind: 1}
    assert admission.admit(6.0, "GOOG", (1, 2.0, None)) is None


def test_no_tuple_is_turned_away_for_those_that_came_before_it() -> None:
    admission = Admission()
    assert [admission.admit(time, "IBM") for time in (2.0, 2.0, 1.0)] == [None, None, None]
