"""Every claim that is made of a query holds against a real engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from freshtide.core.grains import INSTANT
from freshtide.sql.shapes import shape_of
from freshtide.sql.text import parse_query
from tests.examples import examples

from .claims import START, TABLES, World, check_claims, worlds
from .randomqueries import queries
from .samples import NOT_LOCAL, RECOGNISED


def _runs_on_duckdb(sql: str) -> bool:
    """Known names only, and nothing that DuckDB spells in another way or that sqlglot cannot write for it."""
    tables = {reference.source.lower() for reference in parse_query(sql).references}
    strange = re.compile(r"explode|window\.|x\.w|window\(ts, .*GROUP BY window|my_function|EXCEPT \(|ts AS at FROM A")
    return tables <= {"a", "b", "h", "d"} and not strange.search(sql) and " n " not in sql.replace("AS n ", "")


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
    ("names of keys", "SELECT a.ts, d.v FROM a JOIN d ON a.k = d.k"),
    ("names or none", "SELECT a.ts, d.v FROM a LEFT JOIN d ON a.k = d.k"),
    ("rows with a name", "SELECT * FROM a SEMI JOIN d ON a.k = d.k"),
    ("rows without", "SELECT * FROM a ANTI JOIN d ON a.k = d.k"),
    ("rows of listed keys", "SELECT * FROM a WHERE k IN (SELECT k FROM d WHERE v > 1)"),
    ("rows below a mean", "SELECT ts, v FROM a WHERE v < (SELECT avg(v) FROM d)"),
    (
        "hours by name",
        "SELECT date_trunc('hour', a.ts) AS t, d.v, count(*) AS n FROM a JOIN d ON a.k = d.k GROUP BY ALL",
    ),
    ("counts of names", "SELECT a.ts, c.n FROM a JOIN (SELECT k, count(*) AS n FROM d GROUP BY k) c ON a.k = c.k"),
    ("names first", "SELECT a.ts, d.v FROM d LEFT JOIN a ON a.k = d.k"),
    ("rows beside names", "SELECT ts, k FROM a UNION ALL SELECT ts, k FROM d"),
    ("a name for two", "SELECT greatest(a.ts, b.ts) AS t, d.v FROM a JOIN b ON a.k = b.k LEFT JOIN d ON a.v = d.k"),
    ("a shadowed name", "WITH d AS (SELECT a.* FROM a JOIN d USING (k)) SELECT ts FROM b WHERE k IN (SELECT k FROM d)"),
    ("three ways", "SELECT x.ts, z.v FROM a x JOIN b y ON x.ts = y.ts LEFT JOIN a z ON y.ts = z.ts AND z.k = 1"),
]


@pytest.mark.parametrize("sql", [pytest.param(sql, id=name) for name, sql in CLAIMED])
@given(world=worlds())
@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_claimed_holds(sql: str, world: World) -> None:
    parsed = parse_query(sql)
    check_claims(parsed, shape_of(parsed, TABLES), world)


@given(sql=queries(), world=worlds())
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_claimed_of_queries_at_random_holds(sql: str, world: World) -> None:
    parsed = parse_query(sql)
    check_claims(parsed, shape_of(parsed, TABLES), world)


# The checks must be able to fail, or they prove nothing.

TELLING = World(
    a=[(START, 0, 1), (START + timedelta(hours=1), 1, 2), (START + timedelta(hours=30), 0, 2)],
    b=[(START + timedelta(hours=30), 0, 3), (START + timedelta(minutes=10), 0, 4)],
    d=[(START, 0, 5), (START, 1, 6)],
    before=START + timedelta(minutes=20),
    now=START + timedelta(hours=40),
)
FALSE_CLAIMS: Mapping[str, Mapping[str, Any]] = {
    "SELECT a.ts, b.v FROM a JOIN b ON a.k = b.k": {"local": True, "exact_time": True},
    "SELECT ts, sum(v) OVER () AS s FROM a": {"local": True},
    "SELECT date_trunc('week', ts) AS t, sum(v) AS s FROM a GROUP BY 1": {"local": True, "grain": INSTANT},
    "SELECT ts FROM a UNION ALL SELECT ts FROM b": {"linear": True},
    "WITH x AS (SELECT * FROM a) SELECT p.ts FROM x p JOIN x q ON p.k = q.k": {"linear": True},
    "SELECT a.ts, d.v FROM d LEFT JOIN a ON a.k = d.k": {"linear": True},
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
