from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.sql.statements import StatementError, split_statements

STATEMENTS = st.sampled_from(
    [
        "SELECT 1",
        "SELECT ';' AS semicolon",
        'SELECT "a;b"',
        "SELECT 'it''s; fine', 'it\\'s; too'",
        "SELECT `a;b` FROM c",
        "SELECT a -- to the end; of the line\n FROM b",
        "SELECT /* one; two */ a FROM b",
        "SELECT /*+ BROADCAST(b) */ a\nFROM b\nWHERE c = '--;'",
        "SELECT 'ünï;cödé', '日本' FROM b",
        "INSERT INTO a\nVALUES (1, '/*;')",
    ]
)
BETWEEN = st.lists(
    st.sampled_from([" ", "\n", "-- a comment; with a semicolon\n", "/* another;\n one */", "\t", ";", "\r\n"]),
    max_size=4,
).map("".join)


@given(parts=st.lists(st.tuples(BETWEEN, STATEMENTS, BETWEEN), max_size=6))
def test_statements_joined_by_semicolons_and_comments_come_apart_as_they_were(
    parts: list[tuple[str, str, str]],
) -> None:
    text = ";".join(before + statement + after for before, statement, after in parts)
    assert [found.text for found in split_statements(text)] == [statement for _, statement, _ in parts]


@given(parts=st.lists(st.tuples(BETWEEN, STATEMENTS), min_size=1, max_size=6))
def test_statements_know_the_lines_they_begin_in(parts: list[tuple[str, str]]) -> None:
    text, lines = "", []
    for before, statement in parts:
        text += before
        lines.append(text.count("\n") + 1)
        text += statement + ";"
    assert [found.line_of(found.tokens[0]) for found in split_statements(text)] == lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("SELECT 1;\nSELECT 'abc\n\n;", 2),
        ("SELECT 1;\n\n/* abc\n;", 3),
        ("SELECT `abc", 1),
        ("SELECT 'a\nb';\nSELECT \"abc;\n", 3),
    ],
)
def test_a_quote_or_comment_that_never_ends_is_told_where_it_begins(text: str, line: int) -> None:
    with pytest.raises(StatementError, match="does not end") as caught:
        split_statements(text)
    assert caught.value.line == line
