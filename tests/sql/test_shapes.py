"""Shapes: what is recognised, and what is not."""

from __future__ import annotations

import pytest

from freshtide.core.errors import UnknownTableError
from freshtide.core.grains import INSTANT, Grain
from freshtide.sql.rowtimes import common, nests
from freshtide.sql.shapes import Shape, shape_of
from freshtide.sql.text import parse_query

from .samples import DAY, HOUR, MINUTES, MONTH, NO_TIME, NOT_LINEAR, NOT_LOCAL, QUARTER, RECOGNISED, SOURCES, WEEK, YEAR


def shape(sql: str, time_column: str | None = None) -> Shape:
    return shape_of(parse_query(sql), SOURCES, time_column=time_column)


def flags(found: Shape) -> str:
    names = {"local": found.local, "linear": found.linear, "exact": found.exact_time}
    return " ".join(name for name, holds in names.items() if holds)


@pytest.mark.parametrize(
    ("sql", "time_column", "grain", "expected"),
    [pytest.param(*case, id=name) for name, *case in RECOGNISED],
)
def test_recognises(sql: str, time_column: str, grain: Grain, expected: str) -> None:
    found = shape(sql)
    assert (found.time_column, found.grain, flags(found)) == (time_column, grain, expected)
    assert found.reason


@pytest.mark.parametrize(("sql", "words"), [pytest.param(sql, words, id=name) for name, sql, words in NOT_LOCAL])
def test_does_not_take_for_local(sql: str, words: str) -> None:
    found = shape(sql)
    assert found.time_column is not None
    assert not found.local
    assert words in found.reason


@pytest.mark.parametrize("sql", [pytest.param(sql, id=name) for name, sql in NO_TIME])
def test_finds_no_time_column_in(sql: str) -> None:
    found = shape(sql)
    assert (found.time_column, found.grain, found.local, found.exact_time) == (None, None, False, False)
    assert found.reason


@pytest.mark.parametrize("sql", [pytest.param(sql, id=name) for name, sql in NOT_LINEAR])
def test_does_not_take_for_linear(sql: str) -> None:
    assert not shape(sql).linear


def test_sources_that_close_at_different_moments_give_no_exact_time() -> None:
    assert not shape("SELECT greatest(a.ts, h.hour) AS t FROM a JOIN h ON a.k = h.k").exact_time


def test_a_declared_time_column_is_the_only_one_considered() -> None:
    found = shape("SELECT ts, date_trunc('day', ts) AS d FROM a", time_column="D")
    assert (found.time_column, found.grain, found.local) == ("d", DAY, True)


def test_a_declared_time_column_that_is_not_selected_is_named() -> None:
    found = shape("SELECT ts FROM a", time_column="day")
    assert found.time_column is None
    assert "no output column 'day'" in found.reason


@pytest.mark.parametrize("sql", ["SELECT k, max(ts) AS last FROM a GROUP BY k", "SELECT * FROM a"])
def test_a_declared_time_column_that_is_not_recognised_proves_nothing(sql: str) -> None:
    found = shape(sql, time_column="last")
    assert (found.time_column, found.grain, found.local, found.exact_time) == ("last", None, False, False)


def test_a_source_nobody_described_is_an_error() -> None:
    with pytest.raises(UnknownTableError, match="elsewhere"):
        shape("SELECT * FROM elsewhere")


def test_output_columns_are_told_where_they_are_known() -> None:
    assert shape("SELECT c.*, v + 1 AS w FROM c").columns == ("k", "at", "v", "w")
    assert shape("SELECT * FROM a").columns is None


@pytest.mark.parametrize(
    ("outer", "inner", "holds"),
    [
        (HOUR, MINUTES, True),
        (DAY, HOUR, True),
        (MINUTES, HOUR, False),
        (Grain.of_seconds(900), MINUTES, False),
        (HOUR, INSTANT, True),
        (INSTANT, HOUR, False),
        (WEEK, DAY, True),
        (MONTH, Grain.of_seconds(7 * 86_400), False),
        (MONTH, WEEK, False),
        (YEAR, QUARTER, True),
        (QUARTER, YEAR, False),
        (Grain.of_seconds(7 * 86_400), WEEK, False),
        (WEEK, WEEK, True),
    ],
)
def test_buckets_nest(outer: Grain, inner: Grain, holds: bool) -> None:
    assert nests(outer, inner) is holds


def test_overlapping_buckets_have_no_common_grain() -> None:
    assert common(WEEK, MONTH) is None
    assert common(HOUR, DAY) == common(DAY, HOUR) == DAY
