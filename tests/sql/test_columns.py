"""What the columns of a query are of those of a former one, by their texts."""

from __future__ import annotations

import pytest

from freshtide.sql import columns_of_former

FORMER = "SELECT k, count(*) AS n, sum(v) AS `the total` FROM a WHERE v > 0 GROUP BY k"


def columns(listed: str, *, rest: str = "FROM a WHERE v > 0 GROUP BY k") -> tuple[str, ...] | None:
    return columns_of_former(f"SELECT {listed} {rest}", FORMER)


def test_columns_that_were_there_are_taken_by_their_names() -> None:
    assert columns("sum(v) AS s, k") == ("`the total` AS `s`", "`k` AS `k`")


def test_expressions_of_columns_that_were_there_are_computed_from_them() -> None:
    assert columns("k, sum(v) / count(*) AS mean") == ("`k` AS `k`", "`the total` / `n` AS `mean`")


@pytest.mark.parametrize("listed", ["k, max(v) AS top", "k, sum(v + 1) AS s", "*", "k, count(*)  + w AS n", "k, v"])
def test_what_was_not_there_is_not_told(listed: str) -> None:
    assert columns(listed) is None


@pytest.mark.parametrize(
    "rest", ["FROM a GROUP BY k", "FROM b WHERE v > 0 GROUP BY k", "FROM a WHERE v > 0 GROUP BY k LIMIT 3"]
)
def test_a_query_that_differs_elsewhere_has_other_rows(rest: str) -> None:
    assert columns("k", rest=rest) is None


def test_unions_are_not_looked_into() -> None:
    assert (
        columns_of_former(
            "SELECT k FROM a UNION ALL SELECT k FROM b", "SELECT k, v FROM a UNION ALL SELECT k, v FROM b"
        )
        is None
    )
