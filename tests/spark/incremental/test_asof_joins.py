"""As-of joins in the forms that people write are recognised, and followed as a naive model has them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from freshtide.spark import SparkSession
from freshtide.spark.incremental import NotIncrementalError, Plans, compiled
from tests.examples import slow_except
from tests.spark.incremental.content import TABLES, Row, arrow_schema, moved, row
from tests.spark.incremental.trial import Content, follow, query_of

# One row of each key and time: which of several rows a query takes is chance in some of the forms.
_CHANGES = "(SELECT `Key no. 1` AS k, seen, max(mixedCase) AS v FROM odds AS {0} GROUP BY `Key no. 1`, seen)"
_UP_TO = "p.k = f.a AND p.seen <= f.ts"
# Rows that are equal are told apart.
_FACTS = "(SELECT a, b, ts, row_number() OVER (PARTITION BY a, b, ts ORDER BY a) AS n FROM facts AS f0)"
_LATEST = "row_number() OVER (PARTITION BY f.a, f.b, f.ts, f.n ORDER BY p.seen DESC) AS rn"
FORMS = {
    "lateral": "SELECT f.a, f.ts, l.v FROM facts AS f, LATERAL "
    f"(SELECT p.v, p.seen FROM {_CHANGES} p WHERE {_UP_TO} ORDER BY p.seen DESC LIMIT 1) l",
    "lateral, outer, ordered by what it does not select": "SELECT f.a, f.ts, l.v FROM facts AS f LEFT JOIN LATERAL "
    f"(SELECT p.v FROM {_CHANGES} p WHERE {_UP_TO} ORDER BY p.seen DESC LIMIT 1) l ON true",
    "a single value": "SELECT f.a, f.ts, "
    f"(SELECT p.v FROM {_CHANGES} p WHERE {_UP_TO} ORDER BY p.seen DESC LIMIT 1) AS v FROM facts AS f",
    "a single value by max_by": "SELECT f.a, f.ts, "
    f"(SELECT max_by(p.v, p.seen) FROM {_CHANGES} p WHERE {_UP_TO}) AS v FROM facts AS f",
    "the largest time in a condition": f"SELECT f.a, f.ts, p.v FROM facts AS f JOIN {_CHANGES} p ON p.k = f.a "
    "WHERE p.seen = (SELECT max(q.seen) FROM (SELECT `Key no. 1` AS k, seen FROM odds AS o2) q "
    "WHERE q.k = f.a AND q.seen <= f.ts)",
    "numbers": "SELECT a, ts, v FROM "
    f"(SELECT f.a, f.ts, p.v, {_LATEST} FROM {_FACTS} f JOIN {_CHANGES} p ON {_UP_TO}) WHERE rn = 1",
    "numbers, outer": "SELECT a, ts, word FROM "
    f"(SELECT f.a, f.ts, p.v AS word, {_LATEST} FROM {_FACTS} f LEFT JOIN {_CHANGES} p ON {_UP_TO}) WHERE rn = 1",
}
_VERSIONS = f"(SELECT k, v, seen, lead(seen) OVER (PARTITION BY k ORDER BY seen) AS ends FROM {_CHANGES})"
_HOLDS = "f.a = p.k AND p.seen <= f.ts AND (p.ends IS NULL OR f.ts < p.ends)"
RANGES = {
    "a range": f"SELECT f.a, f.ts, p.v FROM facts AS f JOIN {_VERSIONS} p ON {_HOLDS}",
    "a range, outer": f"SELECT f.a, f.ts, p.v FROM facts AS f LEFT JOIN {_VERSIONS} p ON {_HOLDS}",
}
"""Joins with versions already: nothing has to be recognised."""
_OUTER = {
    "a range, outer",
    "lateral, outer, ordered by what it does not select",
    "a single value",
    "a single value by max_by",
    "numbers, outer",
}


def text_of(form: str, *, strict: bool = False) -> str:
    text = {**FORMS, **RANGES}[form].replace("{0}", "o")
    return text.replace("seen <= f.ts", "seen < f.ts") if strict else text


def latest(content: Content, *, outer: bool, strict: bool) -> Iterator[Row]:
    """Row by row: of all changes of its key up to its time the last."""
    for a, _, _, _, ts in content["facts"]:
        changes = [
            (seen, word or "")
            for key, word, _, _, _, seen in content["odds"]
            if None not in (key, seen, ts) and key == a and (seen < ts if strict else seen <= ts)
        ]
        if changes or outer:
            yield a, ts, max(changes)[1] or None if changes else None


def contents(seed: int, steps: int) -> list[Content]:
    """Facts and changes that come and go, late ones among them."""
    rng = Random(seed)
    found: list[Content] = [
        {name: [row(rng, name) for _ in range(rng.randint(6, 12))] if name != "places" else [] for name in TABLES}
    ]
    for step in range(steps):
        # Each side moves by itself as well.
        still = ("facts", "odds", "")[(seed + step) % 3]
        found.append({n: rows if n == still else moved(rng, n, rows) for n, rows in found[-1].items()})
    return found


@pytest.mark.parametrize("seed", slow_except(range(8), 0))
@pytest.mark.parametrize("form", slow_except([*FORMS, *RANGES], "lateral"))
def test_it_is_followed_through_ties_nulls_late_and_removed_rows(
    session: SparkSession, tmp_path: Path, form: str, seed: int
) -> None:
    strict = form in FORMS and bool((seed + sorted(FORMS).index(form)) % 2)
    outcome = follow(
        session,
        text_of(form, strict=strict),
        contents(seed, 3),
        folder=tmp_path,
        model=lambda content: latest(content, outer=form in _OUTER, strict=strict),
    )
    assert outcome.from_changes == 3


@pytest.mark.parametrize("form", FORMS)
def test_it_is_recognised(session: SparkSession, form: str) -> None:
    schemas = {name: Plans(session).schema_of(arrow_schema(name)) for name in TABLES}
    (told,) = compiled(session, query_of(text_of(form)), schemas).as_of_joins
    assert told.endswith("the latest seen up to ts")


OTHERS = {
    "a count": f"SELECT f.a, (SELECT count(p.v) FROM {_CHANGES} p WHERE {_UP_TO}) AS n FROM facts AS f",
    "the earliest": "SELECT a, v FROM (SELECT f.a, p.v, row_number() OVER (PARTITION BY f.a, f.b, f.ts, f.n "
    f"ORDER BY p.seen) AS rn FROM {_FACTS} f JOIN {_CHANGES} p ON {_UP_TO}) WHERE rn = 1",
    "numbers by a column of the right": "SELECT v, ts FROM (SELECT p.v, f.ts, row_number() OVER (PARTITION BY p.v "
    f"ORDER BY p.seen DESC, f.ts) AS rn FROM {_FACTS} f JOIN {_CHANGES} p ON {_UP_TO}) WHERE rn = 1",
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_another_join_is_followed_by_the_rules_for_its_parts(
    session: SparkSession, tmp_path: Path, what: str
) -> None:
    text = OTHERS[what].replace("{0}", "o")
    schemas = {name: Plans(session).schema_of(arrow_schema(name)) for name in TABLES}
    assert compiled(session, query_of(text), schemas).as_of_joins == ()
    follow(session, text, contents(3, 1), folder=tmp_path)


def test_of_equal_times_the_first_by_the_rest_of_the_order_holds(session: SparkSession, tmp_path: Path) -> None:
    text = (
        "SELECT f.a, f.ts, l.mixedCase FROM facts AS f, LATERAL (SELECT p.mixedCase, p.seen FROM odds AS p "
        "WHERE p.`Key no. 1` = f.a AND p.seen <= f.ts ORDER BY p.seen DESC, p.mixedCase DESC NULLS FIRST LIMIT 1) l"
    )
    at = datetime(2024, 3, 31, tzinfo=UTC)
    fact = (1, "u", None, None, at)
    missing, first, second = ((1, word, None, None, None, at) for word in (None, "w", "u"))
    states: list[Content] = [
        {"facts": [fact], "odds": list(changes), "places": []}
        for changes in ((first, second), (first, missing, second), (second, first), (second,))
    ]
    words = dict(zip((id(state) for state in states), ("w", None, "w", "u"), strict=True))
    outcome = follow(session, text, states, folder=tmp_path, model=lambda state: [(1, at, words[id(state)])])
    assert outcome.from_changes == 3


def test_several_rows_without_an_order_that_is_kept_are_refused(session: SparkSession, tmp_path: Path) -> None:
    several = f"SELECT p.v FROM {_CHANGES} p WHERE {_UP_TO} ORDER BY p.seen LIMIT 2"
    text = f"SELECT f.a, l.v FROM facts AS f, LATERAL ({several}) l"
    with pytest.raises(NotIncrementalError, match="does not select what it orders by"):
        follow(session, text.replace("{0}", "o"), contents(0, 1), folder=tmp_path)
