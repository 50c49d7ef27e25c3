"""Views from changes are what their queries say, whatever operators stand on each other and whatever comes and goes."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest

from freshtide.spark import SparkSession
from freshtide.spark.incremental import NotIncrementalError
from tests.examples import slow_except
from tests.spark.incremental.campaign import run_one
from tests.spark.incremental.content import TABLES, Row
from tests.spark.incremental.queries import OPERATORS, query
from tests.spark.incremental.trial import Content, follow, try_out

_BATCHES = 12
_CASES = 4
"""So many in a batch: the first one is for the quick suite."""


@pytest.mark.parametrize("batch", slow_except(range(_BATCHES), 0))
def test_queries_at_random_are_followed_step_by_step(session: SparkSession, batch: int) -> None:
    followed = 0
    for seed in range(batch * _CASES, (batch + 1) * _CASES):
        # What has no rule is refused: that is told to whoever asks for it, and loses nothing.
        with suppress(NotIncrementalError):
            run_one(session, seed)
            followed += 1
    assert followed


def test_all_operators_stand_on_all_others_in_ten_thousand_queries() -> None:
    pairs = frozenset[tuple[str, str]]().union(*(query(seed, TABLES).pairs for seed in range(10_000)))
    assert pairs == set(product(("table", *OPERATORS), OPERATORS))


FOLLOWED = {
    "a key of sessions that is not asked for": "SELECT session_window.start AS s, count(*) AS n FROM facts AS t "
    "GROUP BY session_window(ts, '20 minutes'), a",
    "an order by what is not asked for": "SELECT a AS z FROM facts AS t ORDER BY x, b, d, ts, a LIMIT 2",
    "an offset": "SELECT a, b FROM facts AS t ORDER BY a, b, x, d, ts LIMIT 2 OFFSET 1",
    "a group of all rows that is not there without any": "SELECT max(a) AS m FROM facts AS t GROUP BY 'fixed'",
    "several figures of a pivot": "SELECT * FROM (SELECT a, b, x FROM facts AS t) "
    "PIVOT (sum(x) AS s, count(*) AS n FOR b IN ('u', 'v'))",
    "single values in a condition": "SELECT a, x FROM facts AS t WHERE x > (SELECT avg(x) FROM facts AS u)",
    "single values of the same rows": "SELECT a, (SELECT max(z) FROM places AS g) AS m, "
    "(SELECT min(z) FROM places AS g) AS n FROM facts AS t",
    "fixed values in both": "SELECT a, 1 AS one FROM facts AS t INTERSECT ALL SELECT a, 1 FROM places AS g",
    "a key that is never missing on one side": "SELECT q.z, g.both FROM (SELECT a AS z, coalesce(both, "
    "named_struct('p', 1, 'q', 'u')) AS w FROM places AS p CROSS JOIN odds AS o) q LEFT JOIN odds AS g ON q.w = g.both",
    "rows that are dealt out": "SELECT /*+ REPARTITION(2) */ a, b FROM facts AS t",
}


@pytest.mark.parametrize("what", slow_except(FOLLOWED, "fixed values in both", "rows that are dealt out"))
def test_these_are_followed_as_well(session: SparkSession, tmp_path: Path, what: str) -> None:
    try_out(session, FOLLOWED[what], seed=1, folder=tmp_path)


REFUSED = {
    "an intermediate result of type interval day to second": "SELECT a, sum(gap) AS s FROM "
    "(SELECT a, ts - lag(ts) OVER (PARTITION BY a ORDER BY ts) AS gap FROM facts AS t) q GROUP BY a",
    r"an intermediate result of type map<string,decimal\(10,2\)>": "SELECT a, count(*) AS n FROM "
    "(SELECT a, map(b, x) AS m FROM facts AS t WHERE b IS NOT NULL) GROUP BY a, m",
    "a subquery in an expression, unless": "SELECT a, (SELECT z FROM places AS g) AS m FROM facts AS t",
    "LIMIT without ORDER BY": "SELECT a FROM facts AS t LIMIT 2",
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_kept_is_refused(session: SparkSession, tmp_path: Path, why: str) -> None:
    with pytest.raises(NotIncrementalError, match=why):
        try_out(session, REFUSED[why], seed=1, folder=tmp_path)


def facts(*rows: Row) -> Content:
    """States in which only one table has rows."""
    return {**{name: [] for name in TABLES}, "facts": list(rows)}


_AT = datetime(2024, 3, 31, tzinfo=UTC)


def test_the_least_number_of_a_type_can_go_from_a_sum(session: SparkSession, tmp_path: Path) -> None:
    text = "SELECT b, sum(CAST(a - 128 AS TINYINT)) AS s, avg(CAST(a - 128 AS TINYINT)) AS m FROM facts AS t GROUP BY b"
    one, other = ((number, "u", None, None, _AT) for number in (0, 2))
    follow(session, text, [facts(one, other), facts(other)], folder=tmp_path)


@pytest.mark.parametrize("kind", ["DECIMAL(20, 2)", "DECIMAL(30, 10)", "DECIMAL(38, 20)"])
def test_sums_of_long_decimals_keep_their_last_digits(session: SparkSession, tmp_path: Path, kind: str) -> None:
    smallest = "0." + "0" * (int(kind[-3:-1]) - 1) + "3"
    exact = f"CAST(x AS {kind}) + CAST({smallest}BD AS {kind})"
    value = f"CAST({exact} AS {kind})"
    text = f"SELECT b, sum({value}) AS s, avg({value}) AS m FROM facts AS t GROUP BY b"
    rows = [(1, key, Decimal(number), None, _AT) for number, key in ((1, "u"), (2, "u"), (3, "v"), (4, None))]
    states = [facts(*rows[:2]), facts(*rows), facts(*rows[1:], (1, "u", None, None, _AT)), facts(*rows[2:]), facts()]
    follow(session, text, states, folder=tmp_path)
