"""Query texts: what they read, where they say so, and what is wrong with them."""

from __future__ import annotations

import pytest

from freshtide.sql.text import (
    SqlSyntaxError,
    nondeterministic_functions,
    parse_query,
    references_in,
)


def names(sql: str) -> list[str]:
    """The references as written, which also proves their offsets."""
    parsed = parse_query(sql)
    assert len(parsed.text) == len(sql)
    return [parsed.text[reference.start : reference.end] for reference in parsed.references]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        pytest.param("SELECT * FROM a", ["a"], id="one table"),
        pytest.param("SELECT * FROM a, b AS x JOIN c USING (k)", ["a", "b", "c"], id="lists and joins"),
        pytest.param("SELECT * FROM `my table`", ["`my table`"], id="backticks belong to the name"),
        pytest.param("SELECT * FROM `a``b`", ["`a``b`"], id="a backtick in backticks"),
        pytest.param("SELECT 'größe', `ü` FROM /* ä */ größe", ["größe"], id="letters beyond ASCII"),
        pytest.param("SELECT '𝄞🙂' AS x FROM a", ["a"], id="characters beyond the first plane"),
        pytest.param("-- FROM x\nSELECT 1 /* FROM y */\n  FROM\n\n a -- z", ["a"], id="comments and lines"),
        pytest.param("SELECT 'FROM x' AS s, \"FROM y\" FROM a", ["a"], id="strings"),
        pytest.param("SELECT * FROM 2024_sales", ["2024_sales"], id="a leading digit"),
        pytest.param("SELECT * FROM a WHERE k IN (SELECT k FROM b)", ["a", "b"], id="subqueries in expressions"),
        pytest.param("SELECT * FROM (SELECT * FROM a) x, (b JOIN c)", ["a", "b", "c"], id="parentheses"),
        pytest.param("SELECT * FROM a UNION SELECT * FROM b", ["a", "b"], id="set operations"),
        pytest.param("FROM a SELECT k", ["a"], id="FROM first"),
        pytest.param("SELECT * FROM a |> WHERE k > 1 |> AGGREGATE sum(v) GROUP BY k", ["a"], id="pipes"),
        pytest.param("SELECT /*+ BROADCAST(b) */ * FROM a JOIN b", ["a", "b"], id="hints read nothing"),
        pytest.param("SELECT * FROM a JOIN range(10)", ["a"], id="table functions are no sources"),
        pytest.param("SELECT * FROM A JOIN a", ["A", "a"], id="names as they are written"),
        pytest.param("SELECT window.start, k FROM a GROUP BY window(ts, '5 minutes'), k", ["a"], id="GROUP BY window"),
        pytest.param("SELECT sum(v) OVER w FROM a WINDOW w AS (PARTITION BY k)", ["a"], id="the WINDOW clause"),
    ],
)
def test_finds_the_sources(sql: str, expected: list[str]) -> None:
    assert names(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        pytest.param("WITH x AS (SELECT * FROM a) SELECT * FROM x JOIN b", ["a", "b"], id="a CTE"),
        pytest.param("WITH x AS (SELECT * FROM a) SELECT * FROM X", ["a"], id="in other letters"),
        pytest.param("WITH a AS (SELECT * FROM a) SELECT * FROM a", ["a"], id="named like what it reads"),
        pytest.param(
            "WITH x AS (SELECT * FROM y), y AS (SELECT * FROM x) SELECT * FROM x, y", ["y"], id="in their order"
        ),
        pytest.param(
            "SELECT * FROM (WITH x AS (SELECT * FROM a) SELECT * FROM x) s JOIN x", ["a", "x"], id="out of scope"
        ),
        pytest.param(
            "WITH x AS (SELECT * FROM a) SELECT * FROM b WHERE k IN (SELECT k FROM x)", ["a", "b"], id="in scope"
        ),
        pytest.param(
            "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT * FROM x JOIN a) SELECT * FROM x", ["a"], id="recursive"
        ),
    ],
)
def test_names_of_ctes_are_no_sources(sql: str, expected: list[str]) -> None:
    assert names(sql) == expected


def test_tells_whether_a_source_has_an_alias() -> None:
    parsed = parse_query("SELECT * FROM a JOIN a AS x JOIN a y ON true")
    assert [reference.aliased for reference in parsed.references] == [False, True, True]
    assert references_in(parsed.expression) == parsed.references


def test_unquotes_the_name_of_a_source() -> None:
    assert [r.source for r in parse_query("SELECT * FROM `a``b` JOIN `c d`").references] == ["a`b", "c d"]


@pytest.mark.parametrize(
    ("sql", "text", "streams"),
    [
        pytest.param("SELECT * FROM STREAM a", "SELECT * FROM        a", {"a"}, id="a marked source"),
        pytest.param("SELECT * FROM stream(a) AS x", "SELECT * FROM        a  AS x", {"a"}, id="in parentheses"),
        pytest.param("SELECT * FROM STREAM ( `a b` )", "SELECT * FROM          `a b`  ", {"a b"}, id="quoted"),
        pytest.param(
            "SELECT * FROM a JOIN STREAM b ON 1=1", "SELECT * FROM a JOIN        b ON 1=1", {"b"}, id="joined"
        ),
        pytest.param("SELECT * FROM a, STREAM b", "SELECT * FROM a,        b", {"b"}, id="in a list"),
        pytest.param("SELECT * FROM stream", None, set(), id="a table called stream"),
        pytest.param("SELECT * FROM stream AS s", None, set(), id="with an alias"),
        pytest.param("SELECT * FROM `stream` s", None, set(), id="in backticks"),
        pytest.param("SELECT * FROM stream WHERE stream.k IN (1, stream.v)", None, set(), id="with conditions"),
        pytest.param("SELECT * FROM stream LEFT JOIN a ON true", None, set(), id="with a join"),
        pytest.param("SELECT * FROM stream LIMIT 3", None, set(), id="with a limit"),
        pytest.param("SELECT k, stream x FROM a", None, set(), id="a column called stream"),
        pytest.param("SELECT * FROM a WHERE k IS DISTINCT FROM stream AND v > 1", None, set(), id="a comparison"),
        pytest.param("SELECT 'FROM STREAM x' FROM a -- FROM STREAM y", None, set(), id="strings and comments"),
        pytest.param("SELECT extract(year FROM stream) FROM a", None, set(), id="FROM in a function"),
    ],
)
def test_blanks_out_the_word_stream(sql: str, text: str | None, streams: set[str]) -> None:
    parsed = parse_query(sql)
    assert parsed.text == (text or sql)
    assert parsed.streams == streams


def test_references_of_streams_hold_in_the_blanked_text() -> None:
    assert names("SELECT * FROM STREAM(a) x, STREAM `b` WHERE 'STREAM c' = s;") == ["a", "`b`"]


def test_blanks_out_a_closing_semicolon() -> None:
    assert parse_query("SELECT 1;\n-- done\n;").text == "SELECT 1 \n-- done\n "


@pytest.mark.parametrize(
    ("sql", "line", "words"),
    [
        pytest.param("", 10, "empty", id="nothing"),
        pytest.param("-- only\n-- words", 10, "empty", id="comments only"),
        pytest.param("SELECT 1;\nSELECT 2", 11, "more than one statement", id="two statements"),
        pytest.param("SELECT\n*\nFROM WHERE", 12, "near 'WHERE'", id="no table"),
        pytest.param("SELECT *\nFROM a WHERE", 11, "something is missing", id="no condition"),
        pytest.param("SELECT (1\nFROM a", 11, "does not parse", id="an open parenthesis"),
        pytest.param("SELECT\n 'abc", 11, "never closed", id="an open string"),
        pytest.param("SELECT /* abc", 10, "never closed", id="an open comment"),
        pytest.param("INSERT INTO b SELECT * FROM a", 10, "not a query", id="a command"),
        pytest.param("CREATE VIEW b AS SELECT * FROM a", 10, "not a query", id="a definition"),
        pytest.param("VALUES (1)", 10, "not a query", id="values"),
        pytest.param("SELECT *\nFROM a\nJOIN db.b", 12, "'db.b' in line 12 names a database", id="a database"),
        pytest.param("SELECT * FROM x.db.b", 10, "'x.db.b'", id="a catalog"),
        pytest.param("SELECT * FROM STREAM(db.b)", 10, "'db.b'", id="the stream of a database"),
        pytest.param("SELECT * FROM parquet.`/data`", 10, "without one", id="a file"),
        pytest.param("WITH b AS (SELECT 1) SELECT * FROM db.b", 10, "'db.b'", id="a database and a CTE"),
    ],
)
def test_says_what_is_wrong_and_where(sql: str, line: int, words: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse_query(sql, first_line=10)
    assert caught.value.line == line
    assert words in str(caught.value)
    assert "<" not in str(caught.value), "sqlglot's own objects are not for users"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        pytest.param("SELECT rand(), randn(1), random(), uuid()", ("rand", "randn", "uuid"), id="chance"),
        pytest.param("SELECT now(), current_date", ("now", "current_date"), id="the clock"),
        pytest.param(
            "SELECT * FROM a WHERE ts > current_timestamp - INTERVAL 1 DAY", ("current_timestamp",), id="a filter"
        ),
        pytest.param("SELECT unix_timestamp()", ("unix_timestamp",), id="the clock left out"),
        pytest.param("SELECT unix_timestamp(ts), to_date(ts) FROM a", (), id="a given time"),
        pytest.param(
            "SELECT monotonically_increasing_id(), spark_partition_id(), input_file_name(), shuffle(xs) FROM a",
            ("monotonically_increasing_id", "spark_partition_id", "input_file_name", "shuffle"),
            id="how rows lie",
        ),
        pytest.param("SELECT 'rand()', rand AS now FROM a -- uuid()", (), id="words only"),
        pytest.param("SELECT sum(v) + CASE WHEN k AND v THEN 1 END, my_rand() FROM a", (), id="the rest"),
        pytest.param("SELECT NOW() FROM (SELECT now() FROM a)", ("now",), id="once each"),
    ],
)
def test_finds_functions_that_do_not_follow_from_the_rows(sql: str, expected: tuple[str, ...]) -> None:
    assert nondeterministic_functions(parse_query(sql).expression) == expected
