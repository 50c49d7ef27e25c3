"""Shapes: what is recognised, what is not, and that every claim made holds against a real engine."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freshtide.core.errors import UnknownTableError
from freshtide.core.grains import INSTANT, Grain
from freshtide.core.instants import micros_of
from freshtide.sql.rowtimes import common, nests
from freshtide.sql.shapes import Shape, SourceShape, shape_of
from freshtide.sql.text import ParsedQuery, parse_query

HOUR, DAY, MINUTES = Grain.of_seconds(3_600), Grain.of_seconds(86_400), Grain.of_seconds(600)
WEEK, MONTH, QUARTER, YEAR = (Grain(unit=unit) for unit in ("week", "month", "quarter", "year"))

SOURCES = {
    "a": SourceShape(time_column="ts"),
    "b": SourceShape(time_column="ts"),
    "h": SourceShape(time_column="hour", grain=HOUR),
    "weekly": SourceShape(time_column="week", grain=WEEK),
    "c": SourceShape(time_column="at", columns=("k", "at", "v")),
    "timeless": SourceShape(time_column=None),
}


def shape(sql: str, time_column: str | None = None) -> Shape:
    return shape_of(parse_query(sql), SOURCES, time_column=time_column)


def flags(found: Shape) -> str:
    names = {"local": found.local, "linear": found.linear, "exact": found.exact_time}
    return " ".join(name for name, holds in names.items() if holds)


RECOGNISED = [
    ("every column of a source", "SELECT * FROM a", "ts", INSTANT, "local linear exact"),
    ("every column of one table", "SELECT x.* FROM a AS x", "ts", INSTANT, "local linear exact"),
    ("a filter", "SELECT ts, v FROM a WHERE v > 1", "ts", INSTANT, "local linear exact"),
    ("another name", "SELECT TS AS at FROM A", "at", INSTANT, "local linear exact"),
    ("a cast to itself", "SELECT CAST(ts AS TIMESTAMP) AS t FROM a", "t", INSTANT, "local linear exact"),
    ("the finest of several", "SELECT date_trunc('day', ts) AS d, ts FROM a", "ts", INSTANT, "local linear exact"),
    ("a row-wise bucket", "SELECT date_trunc('hour', ts) AS t FROM a", "t", HOUR, "local linear"),
    ("microseconds", "SELECT date_trunc('MICROSECOND', ts) AS t FROM a", "t", INSTANT, "local linear exact"),
    ("an ordinal", "SELECT date_trunc('hour', ts) AS t, count(*) AS n FROM a GROUP BY 1", "t", HOUR, "local"),
    ("an alias", "SELECT date_trunc('hour', ts) AS t, count(*) AS n FROM a GROUP BY t", "t", HOUR, "local"),
    (
        "the same expression",
        "SELECT k, date_trunc('HOUR', ts) AS t FROM a GROUP BY k, date_trunc('hour', a.ts) HAVING count(*) > 1",
        "t",
        HOUR,
        "local",
    ),
    ("GROUP BY ALL", "SELECT cast(ts AS date) AS d, sum(v) AS s FROM a GROUP BY ALL", "d", DAY, "local"),
    ("keys in parentheses", "SELECT to_date(ts) AS d FROM a GROUP BY (k, to_date(ts))", "d", DAY, "local"),
    ("groups by the time itself", "SELECT ts, sum(v) AS s FROM a GROUP BY ts", "ts", INSTANT, "local exact"),
    ("a month by trunc", "SELECT trunc(ts, 'MONTH') AS m, count(*) AS n FROM a GROUP BY 1", "m", MONTH, "local"),
    ("a date function", "SELECT date(ts) AS d, count(*) AS n FROM a GROUP BY 1", "d", DAY, "local"),
    (
        "a coarser value of a key",
        "SELECT date_trunc('day', ts) AS d, count(*) AS n FROM a GROUP BY ts",
        "d",
        DAY,
        "local",
    ),
    (
        "a key that hides behind its own alias",
        "SELECT date_trunc('hour', ts) AS ts, count(*) AS n FROM a GROUP BY ts",
        "ts",
        HOUR,
        "local",
    ),
    (
        "a tumbling window",
        "SELECT window(ts, '10 minutes').start AS t, count(*) AS n FROM a GROUP BY window(ts, '10 minutes')",
        "t",
        MINUTES,
        "local",
    ),
    (
        "the window column of GROUP BY",
        "SELECT window.start, count(*) AS n FROM a GROUP BY k, window(ts, INTERVAL 10 MINUTES)",
        "start",
        MINUTES,
        "local",
    ),
    (
        "a window out of a subquery",
        "SELECT x.w.start AS t FROM (SELECT window(ts, '10 minutes') AS w FROM a) x GROUP BY x.w",
        "t",
        MINUTES,
        "local",
    ),
    ("rows of a bucketed source", "SELECT hour, n * 2 AS m FROM h", "hour", HOUR, "local linear exact"),
    ("a coarser bucket", "SELECT date_trunc('day', hour) AS d, sum(n) AS n FROM h GROUP BY 1", "d", DAY, "local"),
    ("a finer bucket", "SELECT date_trunc('minute', hour) AS t, 1 AS n FROM h GROUP BY 1", "t", HOUR, "local"),
    ("DISTINCT with the time", "SELECT DISTINCT ts, v FROM a", "ts", INSTANT, "local exact"),
    ("ORDER BY alone", "SELECT ts FROM a ORDER BY v", "ts", INSTANT, "local linear exact"),
    ("a LATERAL VIEW", "SELECT ts, e FROM a LATERAL VIEW explode(xs) t AS e", "ts", INSTANT, "local linear exact"),
    ("explode", "SELECT ts, explode(xs) AS e FROM a", "ts", INSTANT, "local linear exact"),
    (
        "a CTE",
        "WITH x AS (SELECT ts AS t, v FROM a), y AS (SELECT * FROM x WHERE v > 1) SELECT t FROM y",
        "t",
        INSTANT,
        "local linear exact",
    ),
    (
        "a CTE with column names",
        "WITH x(t, w) AS (SELECT ts, v FROM a) SELECT * FROM x",
        "t",
        INSTANT,
        "local linear exact",
    ),
    (
        "groups of groups",
        "SELECT date_trunc('day', t) AS d, max(n) AS n FROM (SELECT date_trunc('hour', ts) AS t, count(*) AS n "
        "FROM a GROUP BY 1) GROUP BY 1",
        "d",
        DAY,
        "local",
    ),
    (
        "a join on the time",
        "SELECT a.ts FROM a JOIN b ON a.ts = b.ts AND a.k = b.k",
        "ts",
        INSTANT,
        "local linear exact",
    ),
    ("a join by USING", "SELECT * FROM a JOIN b USING (ts)", "ts", INSTANT, "local linear exact"),
    ("a join in WHERE", "SELECT a.ts FROM a, b WHERE (a.ts = b.ts)", "ts", INSTANT, "local linear exact"),
    (
        "a join on hours",
        "SELECT a.ts FROM a JOIN b ON date_trunc('hour', a.ts) = date_trunc('hour', b.ts)",
        "ts",
        HOUR,
        "local linear",
    ),
    (
        "a join with a bucketed source",
        "SELECT h.* FROM a JOIN h ON date_trunc('hour', a.ts) = hour",
        "hour",
        HOUR,
        "local linear",
    ),
    (
        "a join through a third table",
        "SELECT a.ts FROM a JOIN b ON a.k = b.k JOIN c ON a.ts = c.at AND b.ts = c.at",
        "ts",
        INSTANT,
        "local linear exact",
    ),
    (
        "a join with constants",
        "SELECT a.ts FROM a JOIN (VALUES (1)) x(k) ON a.k = x.k",
        "ts",
        INSTANT,
        "local linear exact",
    ),
    ("a left join", "SELECT a.ts FROM a LEFT JOIN b ON a.ts = b.ts", "ts", INSTANT, "local exact"),
    ("a right join", "SELECT b.ts FROM a RIGHT JOIN b ON a.ts = b.ts", "ts", INSTANT, "local exact"),
    ("a full join", "SELECT coalesce(b.ts, a.ts) AS t FROM a FULL JOIN b ON a.ts = b.ts", "t", INSTANT, "local exact"),
    ("a full join by USING", "SELECT ts FROM a FULL OUTER JOIN b USING (ts, k)", "ts", INSTANT, "local exact"),
    (
        "full joins by USING in a row",
        "SELECT ts FROM a FULL JOIN b USING (ts) FULL JOIN (SELECT at AS ts FROM c) d USING (ts)",
        "ts",
        INSTANT,
        "local exact",
    ),
    ("a semi join", "SELECT ts FROM a LEFT SEMI JOIN b ON a.ts = b.ts", "ts", INSTANT, "local exact"),
    ("an anti join", "SELECT * FROM a ANTI JOIN h ON date_trunc('hour', a.ts) = h.hour", "ts", HOUR, "local"),
    ("a band join without bounds", "SELECT a.ts FROM a JOIN b ON a.k = b.k", "ts", INSTANT, "linear"),
    (
        "a join at the larger time",
        "SELECT greatest(a.ts, b.ts) AS t FROM a JOIN b ON a.k = b.k",
        "t",
        INSTANT,
        "linear exact",
    ),
    (
        "a band join at the later side",
        "SELECT a.ts FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 HOUR",
        "ts",
        INSTANT,
        "linear exact",
    ),
    (
        "a join that orders the times",
        "SELECT b.ts FROM a JOIN b ON a.k = b.k WHERE a.ts < b.ts",
        "ts",
        INSTANT,
        "linear exact",
    ),
    (
        "the larger time of a three-way join",
        "SELECT greatest(x.t, c.at) AS t FROM (SELECT greatest(a.ts, b.ts) AS t, a.k FROM a JOIN b ON a.k = b.k) x "
        "JOIN c ON x.k = c.k",
        "t",
        INSTANT,
        "linear exact",
    ),
    (
        "the larger of two hours",
        "SELECT greatest(x.hour, y.hour) AS t FROM h x JOIN h y ON x.k = y.k",
        "t",
        HOUR,
        "linear exact",
    ),
    (
        "a window function over the time",
        "SELECT ts, sum(v) OVER (PARTITION BY ts, k) AS s FROM a",
        "ts",
        INSTANT,
        "local exact",
    ),
    (
        "a window function over the day",
        "SELECT ts, sum(v) OVER w AS s FROM a WINDOW w AS (PARTITION BY date_trunc('day', ts) ORDER BY ts)",
        "ts",
        DAY,
        "local",
    ),
    (
        "QUALIFY over the hour",
        "SELECT ts FROM a QUALIFY row_number() OVER (PARTITION BY date_trunc('hour', ts) ORDER BY v) = 1",
        "ts",
        HOUR,
        "local",
    ),
    ("UNION ALL", "SELECT ts, v FROM a UNION ALL SELECT ts, k FROM b", "ts", INSTANT, "local exact"),
    ("UNION ALL of known stars", "SELECT * FROM c UNION ALL SELECT * FROM c", "at", INSTANT, "local exact"),
    (
        "UNION ALL of one reference",
        "WITH x AS (SELECT ts, v FROM a) SELECT ts FROM x WHERE v > 1 UNION ALL SELECT ts FROM x WHERE v < 0",
        "ts",
        INSTANT,
        "local linear exact",
    ),
    ("UNION", "SELECT ts, v FROM a UNION SELECT ts, v FROM b", "ts", INSTANT, "local exact"),
    (
        "UNION ALL of different buckets",
        "SELECT date_trunc('hour', ts) AS t FROM a UNION ALL SELECT date_trunc('day', ts) FROM b",
        "t",
        DAY,
        "local",
    ),
    ("EXCEPT", "SELECT ts, v FROM a EXCEPT SELECT ts, v FROM b", "ts", INSTANT, "local exact"),
    ("INTERSECT ALL", "SELECT ts FROM a INTERSECT ALL SELECT ts FROM b", "ts", INSTANT, "local exact"),
    (
        "a CTE joined with itself",
        "WITH x AS (SELECT * FROM a) SELECT p.ts FROM x p JOIN x q ON p.ts = q.ts",
        "ts",
        INSTANT,
        "local exact",
    ),
    ("a CTE that nobody reads", "WITH x AS (SELECT * FROM b) SELECT * FROM a", "ts", INSTANT, "local exact"),
    ("hints", "SELECT /*+ BROADCAST(b) */ a.ts FROM a JOIN b ON a.ts = b.ts", "ts", INSTANT, "local linear exact"),
    (
        "an unknown function beside columns",
        "SELECT ts, my_function(v) AS f FROM a",
        "ts",
        INSTANT,
        "local linear exact",
    ),
]


@pytest.mark.parametrize(
    ("sql", "time_column", "grain", "expected"),
    [pytest.param(*case, id=name) for name, *case in RECOGNISED],
)
def test_recognises(sql: str, time_column: str, grain: Grain, expected: str) -> None:
    found = shape(sql)
    assert (found.time_column, found.grain, flags(found)) == (time_column, grain, expected)
    assert found.reason


NOT_LOCAL = [
    ("LIMIT", "SELECT ts FROM a LIMIT 3", "LIMIT"),
    ("LIMIT in a subquery", "SELECT ts FROM (SELECT * FROM a ORDER BY ts LIMIT 3)", "LIMIT"),
    ("OFFSET on a union", "SELECT ts FROM a UNION ALL SELECT ts FROM b OFFSET 2", "LIMIT"),
    ("IN with a query", "SELECT ts FROM a WHERE v IN (SELECT v FROM b)", "subquery"),
    ("EXISTS", "SELECT ts FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.ts = a.ts)", "subquery"),
    ("a scalar subquery", "SELECT ts, (SELECT max(v) FROM b) AS m FROM a", "subquery"),
    ("a subquery in ON", "SELECT a.ts FROM a JOIN b ON a.ts = b.ts AND a.v > (SELECT max(v) FROM b)", "subquery"),
    ("a subquery alike one in FROM", "SELECT ts FROM (SELECT * FROM a) WHERE v IN (SELECT * FROM a)", "subquery"),
    ("a timeless source", "SELECT a.ts FROM a JOIN timeless ON a.k = timeless.k", "no time column"),
    ("a left join on a key", "SELECT a.ts FROM a LEFT JOIN b ON a.k = b.k", "left join"),
    ("a left join equated in WHERE", "SELECT a.ts FROM a LEFT JOIN b ON a.k = b.k WHERE a.ts = b.ts", "left join"),
    (
        "a left join after a loose join",
        "SELECT a.ts FROM a JOIN b ON a.k = b.k LEFT JOIN c ON a.ts = c.at",
        "left join",
    ),
    ("an anti join on a key", "SELECT ts FROM a LEFT ANTI JOIN b ON a.k = b.k", "anti join"),
    ("a right join with constants", "SELECT a.ts FROM (VALUES (1)) x(k) RIGHT JOIN a ON a.k = x.k", "right join"),
    ("a window function by key", "SELECT ts, sum(v) OVER (PARTITION BY k) AS s FROM a", "window function"),
    (
        "one of two window functions",
        "SELECT ts, sum(v) OVER (PARTITION BY ts), max(v) OVER () FROM a",
        "window function",
    ),
    ("an aggregate joined to rows", "SELECT ts FROM a CROSS JOIN (SELECT max(v) AS m FROM b)", "aggregates"),
    ("an unknown aggregate", "SELECT ts FROM a CROSS JOIN (SELECT my_function(v) AS m FROM b)", "may aggregate"),
    (
        "an aggregate sqlglot takes for a predicate",
        "SELECT ts FROM a CROSS JOIN (SELECT any(v) AS m FROM b)",
        "may aggregate",
    ),
    (
        "an alias of an unknown aggregate",
        "SELECT ts FROM a CROSS JOIN (SELECT my_function(v) AS m, m AS again FROM b)",
        "may aggregate",
    ),
    ("HAVING alone", "SELECT ts FROM a CROSS JOIN (SELECT 1 AS m FROM b HAVING count(*) > 1)", "aggregates"),
    (
        "weeks equated with months",
        "SELECT week FROM weekly JOIN b ON week = date_trunc('month', b.ts)",
        "without equating",
    ),
    ("times equated in an OR", "SELECT a.ts FROM a JOIN b ON a.ts = b.ts OR a.k = b.k", "without equating"),
    ("times an hour apart", "SELECT a.ts FROM a JOIN b ON a.ts = b.ts + INTERVAL 1 HOUR", "without equating"),
]


@pytest.mark.parametrize(("sql", "words"), [pytest.param(sql, words, id=name) for name, sql, words in NOT_LOCAL])
def test_does_not_take_for_local(sql: str, words: str) -> None:
    found = shape(sql)
    assert found.time_column is not None
    assert not found.local
    assert words in found.reason


NO_TIME = [
    ("a global aggregate", "SELECT max(ts) AS ts FROM a"),
    ("groups by a key", "SELECT k, max(ts) AS ts FROM a GROUP BY k"),
    ("a time key that is not selected", "SELECT count(*) AS n FROM a GROUP BY ts"),
    ("a rollup", "SELECT date(ts) AS d, count(*) AS n FROM a GROUP BY ROLLUP (1)"),
    ("WITH CUBE", "SELECT ts, count(*) AS n FROM a GROUP BY ts WITH CUBE"),
    ("grouping sets", "SELECT ts, count(*) AS n FROM a GROUP BY GROUPING SETS ((ts), ())"),
    ("the end of a window", "SELECT window.end AS t, count(*) AS n FROM a GROUP BY window(ts, '1 hour')"),
    ("a whole window", "SELECT window, count(*) AS n FROM a GROUP BY window(ts, '1 hour')"),
    ("a sliding window", "SELECT window.start FROM a GROUP BY window(ts, '1 hour', '30 minutes')"),
    ("a shifted window", "SELECT window(ts, '1 hour', '1 hour', '5 minutes').start AS t FROM a"),
    ("a session window", "SELECT session_window(ts, '1 hour').start AS t FROM a"),
    ("a unit Spark does not know", "SELECT date_trunc('M', ts) AS t FROM a"),
    ("a unit trunc does not know", "SELECT trunc(ts, 'hour') AS t FROM a"),
    ("a unit out of a column", "SELECT date_trunc(month, ts) AS t FROM a"),
    ("a formatted date", "SELECT to_date(ts, 'yyyy') AS t FROM a"),
    ("a shifted time", "SELECT ts + INTERVAL 1 HOUR AS t FROM a"),
    ("a text", "SELECT CAST(ts AS STRING) AS t FROM a"),
    ("months of weeks", "SELECT date_trunc('month', week) AS m, count(*) AS n FROM weekly GROUP BY 1"),
    ("a bucket without a name", "SELECT date_trunc('hour', ts), count(*) AS n FROM a GROUP BY 1"),
    ("the time left out", "SELECT * EXCEPT (ts) FROM a"),
    ("the same name twice", "SELECT a.ts, b.ts FROM a JOIN b ON a.ts = b.ts"),
    ("a star over the same name twice", "SELECT * FROM a JOIN b ON a.ts = b.ts"),
    ("an ambiguous column", "SELECT date_trunc('hour', ts) AS t FROM a JOIN b ON a.k = b.k"),
    ("the side a left join fills up", "SELECT b.ts FROM a LEFT JOIN b ON a.ts = b.ts"),
    ("the side a right join fills up", "SELECT a.ts FROM a RIGHT JOIN b ON a.ts = b.ts"),
    ("either side of a full join", "SELECT a.ts FROM a FULL JOIN b ON a.ts = b.ts"),
    ("one side of a full join twice", "SELECT coalesce(a.ts, a.ts) AS t FROM a FULL JOIN b ON a.ts = b.ts"),
    ("the larger side of a full join", "SELECT greatest(a.ts, b.ts) AS t FROM a FULL JOIN b ON a.ts = b.ts"),
    ("DISTINCT without the time", "SELECT DISTINCT v FROM a"),
    ("UNION at other positions", "SELECT ts, v FROM a UNION ALL SELECT v, ts FROM b"),
    ("UNION of stars at unknown positions", "SELECT * FROM a UNION ALL SELECT * FROM b"),
    ("UNION with constants", "SELECT ts FROM a UNION ALL SELECT TIMESTAMP '2024-01-01'"),
    ("UNION of weeks and months", "SELECT week FROM weekly UNION ALL SELECT date_trunc('month', ts) FROM a"),
    ("a generator of unknown width before the time", "SELECT inline(xs), ts FROM a UNION ALL SELECT v, ts FROM b"),
    ("a timeless source", "SELECT * FROM timeless"),
    ("a sample", "SELECT * FROM a TABLESAMPLE (10 PERCENT)"),
    ("a LATERAL join", "SELECT a.ts FROM a, LATERAL (SELECT max(v) FROM b WHERE b.ts = a.ts)"),
    ("a natural join", "SELECT a.ts FROM a NATURAL JOIN b"),
    ("a pivot", "SELECT * FROM a PIVOT (sum(v) FOR k IN (1, 2))"),
    ("a table function", "SELECT a.ts FROM a JOIN range(10)"),
    ("an older version", "SELECT * FROM a VERSION AS OF 3"),
    ("a recursive CTE", "WITH RECURSIVE x AS (SELECT ts FROM a UNION ALL SELECT ts FROM x) SELECT ts FROM x"),
    ("pipes", "SELECT * FROM a |> WHERE v > 1"),
    ("a script", "SELECT TRANSFORM (ts) USING 'cat' AS (ts) FROM a"),
    ("a column of a table that is called window", "SELECT window.start FROM a AS window GROUP BY window(ts, '1 hour')"),
    ("constants", "SELECT 1 AS x"),
    ("constants with all matches", "SELECT a.ts FROM (VALUES (1)) x(k) LEFT JOIN a ON a.k = x.k"),
]


@pytest.mark.parametrize("sql", [pytest.param(sql, id=name) for name, sql in NO_TIME])
def test_finds_no_time_column_in(sql: str) -> None:
    found = shape(sql)
    assert (found.time_column, found.grain, found.local, found.exact_time) == (None, None, False, False)
    assert found.reason


NOT_LINEAR = [
    ("groups", "SELECT ts, count(*) AS n FROM a GROUP BY ts"),
    ("left joins", "SELECT a.ts FROM a LEFT JOIN b ON a.ts = b.ts"),
    ("semi joins", "SELECT ts FROM a LEFT SEMI JOIN b ON a.ts = b.ts"),
    ("DISTINCT", "SELECT DISTINCT ts FROM a"),
    ("UNION", "SELECT ts FROM a UNION SELECT ts FROM a"),
    ("EXCEPT", "SELECT ts FROM a EXCEPT SELECT ts FROM b"),
    ("window functions", "SELECT ts, count(*) OVER (PARTITION BY ts) AS n FROM a"),
    ("LIMIT", "SELECT ts FROM a LIMIT 3"),
    ("subqueries in expressions", "SELECT ts FROM a WHERE v IN (SELECT v FROM b)"),
    # With the new rows of `a` in its place, the branch of `b` would give its rows once more.
    ("UNION ALL of two references", "SELECT ts FROM a UNION ALL SELECT ts FROM b"),
    # One place in the text, but two in the join.
    ("a CTE joined with itself", "WITH x AS (SELECT * FROM a) SELECT greatest(p.ts, q.ts) AS t FROM x p JOIN x q"),
    ("a reference without effect", "WITH x AS (SELECT * FROM b) SELECT ts FROM a"),
    ("unknown functions alone", "SELECT my_function(v) AS f FROM a"),
    ("aggregates", "SELECT sum(v) AS s FROM a"),
    ("timeless sources", "SELECT * FROM timeless"),
    ("constants", "SELECT 1 AS x"),
]


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


# From here on: claims against DuckDB. `a` and `b` are base tables, `h` is an hourly view of `a`.

START = datetime(2024, 1, 28, 21)  # a Sunday evening: a day, a week and soon a month come to an end
STEP = timedelta(minutes=10)
SPANS = [timedelta(hours=2), timedelta(hours=7), timedelta(days=2), timedelta(days=7)]
TABLES = {name: SOURCES[name] for name in ("a", "b", "h")}
ENGINE = duckdb.connect()
ENGINE.execute(
    "CREATE MACRO bucket_start(t, width) AS time_bucket(width::INTERVAL, t::TIMESTAMP, TIMESTAMP '1970-01-01')"
)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Rows of the base tables, and two moments."""

    a: list[tuple[datetime, int, int]]
    b: list[tuple[datetime, int, int]]
    before: datetime
    now: datetime


def world_of(seed: int) -> World:
    """Rows that meet often enough to tell: few moments, few keys, and cuts in their midst."""
    rng = random.Random(seed)
    span = rng.choice(SPANS)
    odd = [timedelta(), timedelta(), timedelta(seconds=1)]
    moments = [START + STEP * rng.randrange(span // STEP) + rng.choice(odd) for _ in range(rng.randint(2, 8))]

    def rows() -> list[tuple[datetime, int, int]]:
        return [(rng.choice(moments), rng.randrange(2), rng.randrange(4)) for _ in range(rng.randint(0, 9))]

    cut = rng.choice([rng.choice(moments), START + STEP * rng.randrange(span // STEP)])
    return World(a=rows(), b=rows(), before=cut, now=max(cut, rng.choice([max(moments), rng.choice(moments)])))


def worlds() -> st.SearchStrategy[World]:
    return st.integers(0, 2**32).map(world_of)


def _literal(rows: list[tuple[datetime, int, int]]) -> str:
    values = ", ".join(f"(TIMESTAMP '{at}', {k}, {v})" for at, k, v in rows)
    empty = "SELECT NULL::TIMESTAMP, NULL::INT, NULL::INT WHERE false"
    return f"SELECT * FROM (VALUES {values})" if values else empty


def _load(world: World) -> None:
    for name in ("a", "b"):
        ENGINE.execute(
            f"CREATE OR REPLACE TABLE all_{name} AS SELECT * FROM ({_literal(getattr(world, name))}) t(ts, k, v)"
        )


def _state(state: str, condition: str, closed_before: str | None = None) -> None:
    """Tables as of a state: base rows for which the condition holds, `h` made from them.

    With `closed_before`, `h` holds closed hours only, of all rows.
    """
    for name in ("a", "b"):
        ENGINE.execute(f"CREATE OR REPLACE VIEW {state}_{name} AS SELECT * FROM all_{name} WHERE {condition}")
    source = f"{state}_a" if closed_before is None else "all_a"
    kept = "true" if closed_before is None else closed_before
    ENGINE.execute(
        f"CREATE OR REPLACE VIEW {state}_h AS SELECT * FROM (SELECT date_trunc('hour', ts) AS hour, k, "
        f"count(*) AS v FROM {source} GROUP BY ALL) WHERE {kept}"
    )


def _at(micros: int) -> str:
    return f"make_timestamp({micros})"


def _filled_in(parsed: ParsedQuery, states: list[str]) -> str:
    """The query text with each reference replaced by the table of its state, as updates do it."""
    text = parsed.text
    for reference, state in reversed(list(zip(parsed.references, states, strict=True))):
        name = f"{state}_{reference.source}" + ("" if reference.aliased else f" AS {reference.source}")
        text = text[: reference.start] + name + text[reference.end :]
    return text


@cache
def _for_duckdb(text: str) -> str:
    without_windows = re.sub(r"window\(([^,()]+), ('[^']*')\)\.start", r"bucket_start(\1, \2)", text)
    # Spark's TIMESTAMP is an instant, which DuckDB gives back in the zone of the machine.
    return sqlglot.transpile(without_windows, "spark", "duckdb")[0].replace("TIMESTAMPTZ", "TIMESTAMP")


def _rows(parsed: ParsedQuery, *states: str) -> Counter[Row]:
    each = list(states) if len(states) > 1 else list(states) * len(parsed.references)
    found = ENGINE.execute(_for_duckdb(_filled_in(parsed, each))).fetchall()
    return Counter(found)


def _column_index(parsed: ParsedQuery, name: str) -> int:
    ENGINE.execute(_for_duckdb(_filled_in(parsed, ["new"] * len(parsed.references))))
    return [column[0].lower() for column in ENGINE.description or ()].index(name.lower())


def _stamp(value: object) -> int:
    assert isinstance(value, date), f"a row without a time: {value}"
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return micros_of(moment)


def _stamped(rows: Counter[Row], index: int, *, before: int) -> Counter[Row]:
    return Counter({row: count for row, count in rows.items() if _stamp(row[index]) < before})


def check_local(parsed: ParsedQuery, found: Shape, world: World, *, closed: bool) -> None:
    assert found.time_column is not None
    assert found.grain is not None
    first_open = found.grain.floor(micros_of(world.before) + 1)
    before, now = _at(micros_of(world.before)), _at(micros_of(world.now))
    hours = {cut: f"hour < date_trunc('hour', {cut} + INTERVAL 1 MICROSECOND)" for cut in (before, now)}
    _state("old", f"ts <= {before}", hours[before] if closed else None)
    _state("new", f"ts <= {now}", hours[now] if closed else None)
    opened = f"ts <= {now} AND ts >= {_at(first_open)}"
    _state("open", opened, f"{hours[now]} AND hour >= {_at(first_open)}" if closed else None)
    index = _column_index(parsed, found.time_column)
    new = _rows(parsed, "new")
    kept = _stamped(new, index, before=first_open)
    assert kept == _stamped(_rows(parsed, "old"), index, before=first_open), "closed rows changed"
    assert new - kept == _rows(parsed, "open"), "open rows depend on rows before their bucket"


def _append_states(world: World) -> None:
    """Sources that only append: base tables, and the closed hours of `h`."""
    before, now = _at(micros_of(world.before)), _at(micros_of(world.now))
    closed = {cut: f"hour < date_trunc('hour', {cut} + INTERVAL 1 MICROSECOND)" for cut in (before, now)}
    _state("old", f"ts <= {before}", closed[before])
    _state("new", f"ts <= {now}", closed[now])
    _state("delta", f"ts <= {now} AND ts > {before}", f"{closed[now]} AND NOT {closed[before]}")


def check_linear(parsed: ParsedQuery, world: World) -> None:
    _append_states(world)
    total = _rows(parsed, "old")
    count = len(parsed.references)
    for place in range(count):
        states = ["new"] * place + ["delta"] + ["old"] * (count - place - 1)
        total += _rows(parsed, *states)
    assert total == _rows(parsed, "new"), "the terms do not add up"


def check_exact_time(parsed: ParsedQuery, found: Shape, world: World) -> None:
    assert found.time_column is not None
    _append_states(world)
    reached = found.source_grain.floor(micros_of(world.before) + 1)
    index = _column_index(parsed, found.time_column)
    old, new = _rows(parsed, "old"), _rows(parsed, "new")
    assert _stamped(new, index, before=reached) == old, "rows were added to a time already reached"


def check_claims(parsed: ParsedQuery, found: Shape, world: World) -> None:
    """Everything that a shape claims, on these rows."""
    _load(world)
    if found.local:
        check_local(parsed, found, world, closed=False)
        check_local(parsed, found, world, closed=True)
    if found.linear:
        check_linear(parsed, world)
    if found.exact_time:
        check_exact_time(parsed, found, world)


def _runs_on_duckdb(sql: str) -> bool:
    """Known names only, and nothing that DuckDB spells in another way or that sqlglot cannot write for it."""
    tables = {reference.source.lower() for reference in parse_query(sql).references}
    strange = re.compile(r"explode|window\.|x\.w|window\(ts, .*GROUP BY window|my_function|EXCEPT \(|ts AS at FROM A")
    return tables <= {"a", "b", "h"} and not strange.search(sql) and " n " not in sql.replace("AS n ", "")


CLAIMED = [
    *[(name, sql) for name, sql, *_ in RECOGNISED if _runs_on_duckdb(sql) and "FROM h" not in sql],
    *[(name, sql) for name, sql, *_ in NOT_LOCAL if _runs_on_duckdb(sql) and "any(" not in sql],
    ("windows", "SELECT window(ts, '10 minutes').start AS t, count(*) AS n FROM a GROUP BY 1"),
    ("hours", "SELECT hour, v * 2 AS w FROM h"),
    ("days of hours", "SELECT date_trunc('day', hour) AS d, sum(v) AS s FROM h GROUP BY 1"),
    ("weeks of hours", "SELECT date_trunc('week', hour) AS d, sum(v) AS s FROM h GROUP BY 1"),
    ("minutes of hours", "SELECT date_trunc('minute', hour) AS d, sum(v) AS s FROM h GROUP BY 1"),
    ("two hours", "SELECT greatest(x.hour, y.hour) AS t FROM h x JOIN h y ON x.k = y.k"),
    ("hours by days", "SELECT x.hour, y.v FROM h x JOIN h y ON date(x.hour) = date(y.hour)"),
    ("hours beside rows", "SELECT a.ts, h.v FROM a LEFT JOIN h ON date_trunc('hour', a.ts) = hour"),
    ("hours equal to rows", "SELECT a.ts, h.v FROM a JOIN h ON a.ts = h.hour"),
    ("rows of busy hours", "SELECT * FROM b SEMI JOIN h ON date_trunc('hour', b.ts) = h.hour AND h.v > 1"),
    (
        "weeks beside months",
        "SELECT date_trunc('week', ts) AS t FROM a UNION ALL SELECT date_trunc('month', ts) FROM b",
    ),
    ("weeks in months", "SELECT date_trunc('month', t) AS m FROM (SELECT DISTINCT date_trunc('week', ts) AS t FROM a)"),
    ("a CTE by key", "WITH x AS (SELECT * FROM a) SELECT greatest(p.ts, q.ts) AS t FROM x p JOIN x q ON p.k = q.k"),
    ("sums of the day", "SELECT ts, sum(v) OVER (PARTITION BY date(ts)) AS s FROM a"),
    ("three ways", "SELECT x.ts, z.v FROM a x JOIN b y ON x.ts = y.ts LEFT JOIN a z ON y.ts = z.ts AND z.k = 1"),
]


@pytest.mark.parametrize("sql", [pytest.param(sql, id=name) for name, sql in CLAIMED])
@given(world=worlds())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_claimed_holds(sql: str, world: World) -> None:
    parsed = parse_query(sql)
    check_claims(parsed, shape_of(parsed, TABLES), world)


# Queries put together at random: each gives the columns t, k and v.

TIMES = ["x.t", "x.t", "date_trunc('hour', x.t)", "date_trunc('day', x.t)", "CAST(x.t AS DATE)"]
TIMES += ["date_trunc('week', x.t)", "date_trunc('month', x.t)", "window(x.t, '20 minutes').start"]
TIMES += ["window(x.t, '30 minutes').start", "x.t + INTERVAL 1 HOUR"]
JOINS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
# DuckDB takes no full join without an equation.
EQUATIONS = ["x.t = y.t", "date_trunc('hour', x.t) = date_trunc('hour', y.t)", "x.t = date_trunc('hour', y.t)"]
EQUATIONS += ["x.k = y.k", "CAST(x.t AS DATE) = y.t"]
MATCHES = [*EQUATIONS, "x.t >= y.t", "x.t < y.t", "x.t BETWEEN y.t AND y.t"]
JOINED_TIMES = ["x.t", "y.t", "greatest(x.t, y.t)", "coalesce(x.t, y.t)", "least(x.t, y.t)"]
JOINED_TIMES += ["date_trunc('hour', y.t)", "coalesce(date_trunc('hour', x.t), y.t)", "greatest(date(x.t), y.t)"]
GROUPED = ["sum(x.v)", "count(*)", "max(x.v)"]
PARTITIONS = ["", "PARTITION BY x.k", "PARTITION BY x.t", "PARTITION BY date_trunc('day', x.t), x.k"]


@st.composite
def row_wise(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    where = draw(st.sampled_from(["", " WHERE x.v > 1", " WHERE x.k = 0"]))
    distinct = draw(st.sampled_from(["", "", "DISTINCT "]))
    return f"SELECT {distinct}{draw(st.sampled_from(TIMES))} AS t, x.k, x.v FROM {draw(tables)} x{where}"


@st.composite
def grouped(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    key = draw(st.sampled_from(TIMES))
    keys = draw(st.sampled_from([f"{key}, x.k", "ALL", "x.k"]))
    time = "max(x.t)" if keys == "x.k" else key
    return f"SELECT {time} AS t, x.k, {draw(st.sampled_from(GROUPED))} AS v FROM {draw(tables)} x GROUP BY {keys}"


@st.composite
def windowed(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    time, part = draw(st.sampled_from(TIMES)), draw(st.sampled_from(PARTITIONS))
    order = draw(st.sampled_from(["", " ORDER BY x.v"]))
    return f"SELECT {time} AS t, x.k, sum(x.v) OVER ({part}{order}) AS v FROM {draw(tables)} x"


@st.composite
def joined(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    left, right = draw(tables), draw(tables)
    if draw(st.integers(0, 4)) == 0:
        kind = draw(st.sampled_from(["SEMI JOIN", "ANTI JOIN"]))
        return f"SELECT x.t, x.k, x.v FROM {left} x {kind} {right} y ON {draw(st.sampled_from(MATCHES))}"
    kind = draw(st.sampled_from(JOINS))
    if draw(st.integers(0, 4)) == 0:
        time = draw(st.sampled_from(["t", "x.t", "y.t"]))
        return f"SELECT {time} AS t, x.k, y.v FROM {left} x {kind} {right} y USING (t)"
    matches = [*draw(st.lists(st.sampled_from(MATCHES), max_size=1)), draw(st.sampled_from(EQUATIONS))]
    where = f" WHERE {draw(st.sampled_from(MATCHES))}" if draw(st.integers(0, 3)) == 0 else ""
    time = draw(st.sampled_from(JOINED_TIMES))
    return f"SELECT {time} AS t, x.k, y.v FROM {left} x {kind} {right} y ON {' AND '.join(matches)}{where}"


@st.composite
def three_way(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    kinds = [draw(st.sampled_from(JOINS)) for _ in range(2)]
    first, second, third = (draw(tables) for _ in range(3))
    if draw(st.integers(0, 2)) == 0:
        time = draw(st.sampled_from(["t", "t", "x.t", "z.t"]))
        joins = f"{first} x {kinds[0]} {second} y USING (t) {kinds[1]} {third} z USING (t)"
        return f"SELECT {time} AS t, x.k, z.v FROM {joins}"
    equations = ["x.t = z.t", "y.t = z.t", "date_trunc('hour', y.t) = date_trunc('hour', z.t)", "y.k = z.k"]
    more = ["x.t = y.t", "y.t <= z.t", "x.t > z.t"]
    on = f"{draw(st.sampled_from(equations))}" + draw(st.sampled_from(["", *(f" AND {part}" for part in more)]))
    match = draw(st.sampled_from(EQUATIONS))
    where = draw(st.sampled_from(["", "", *(f" WHERE {part}" for part in (*equations, *more))]))
    time = draw(st.sampled_from([*JOINED_TIMES, "z.t", "greatest(x.t, y.t, z.t)", "coalesce(y.t, z.t)"]))
    joins = f"{first} x {kinds[0]} {second} y ON {match} {kinds[1]} {third} z ON {on}"
    return f"SELECT {time} AS t, y.k, z.v FROM {joins}{where}"


@st.composite
def combined(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    word = draw(st.sampled_from(["UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"]))
    sides = [draw(row_wise(tables) | grouped(tables)) for _ in range(2)]
    return f" {word} ".join(sides)


@st.composite
def shared(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    body = draw(row_wise(tables) | grouped(tables))
    shared_table = st.booleans().flatmap(lambda again: st.just("shared") if again else tables)
    return f"WITH shared AS ({body}) {draw(joined(shared_table) | combined(shared_table))}"


def queries() -> st.SearchStrategy[str]:
    base = st.sampled_from(
        [
            "(SELECT ts AS t, k, v FROM a)",
            "(SELECT ts AS t, k, v FROM b)",
            "(SELECT hour AS t, k, v FROM h)",
        ]
    )

    def level(tables: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        kinds = [row_wise, grouped, windowed, joined, joined, three_way, combined, shared]
        return st.sampled_from(kinds).flatmap(lambda kind: kind(tables))

    return level(base) | level(base | level(base).map(lambda query: f"({query})"))


@given(sql=queries(), world=worlds())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_claimed_of_queries_at_random_holds(sql: str, world: World) -> None:
    parsed = parse_query(sql)
    check_claims(parsed, shape_of(parsed, TABLES), world)


# The checks must be able to fail, or they prove nothing.

TELLING = World(
    a=[(START, 0, 1), (START + timedelta(hours=1), 1, 2), (START + timedelta(hours=30), 0, 2)],
    b=[(START + timedelta(hours=30), 0, 3), (START + timedelta(minutes=10), 0, 4)],
    before=START + timedelta(minutes=20),
    now=START + timedelta(hours=40),
)
FALSE_CLAIMS: Mapping[str, Mapping[str, Any]] = {
    "SELECT a.ts, b.v FROM a JOIN b ON a.k = b.k": {"local": True, "exact_time": True},
    "SELECT ts, sum(v) OVER () AS s FROM a": {"local": True},
    "SELECT date_trunc('week', ts) AS t, sum(v) AS s FROM a GROUP BY 1": {"local": True, "grain": INSTANT},
    "SELECT ts FROM a UNION ALL SELECT ts FROM b": {"linear": True},
    "WITH x AS (SELECT * FROM a) SELECT p.ts FROM x p JOIN x q ON p.k = q.k": {"linear": True},
    "SELECT b.ts, a.v FROM a LEFT JOIN b ON a.ts = b.ts": {"local": True, "time_column": "ts", "grain": INSTANT},
}


@pytest.mark.parametrize(
    ("sql", "claim"),
    [
        pytest.param(
            sql, {**claims, "local": False, "linear": False, "exact_time": False, name: True}, id=f"{name}: {sql}"
        )
        for sql, claims in FALSE_CLAIMS.items()
        for name in ("local", "linear", "exact_time")
        if claims.get(name)
    ],
)
def test_a_false_claim_would_be_found_out(sql: str, claim: Mapping[str, Any]) -> None:
    parsed = parse_query(sql)
    with pytest.raises(AssertionError):
        check_claims(parsed, replace(shape_of(parsed, TABLES), **claim), TELLING)
