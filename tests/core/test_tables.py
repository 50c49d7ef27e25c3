from __future__ import annotations

import pytest

from freshtide.core.tables import SourceReference, SqlQuery


@pytest.mark.parametrize(
    ("text", "aliased", "expected"),
    [
        ("SELECT * FROM cpu", False, True),
        ("select *\n  from cpu\n", False, True),
        ("SELECT * FROM cpu AS c", True, False),
        ("SELECT DISTINCT * FROM cpu", False, False),
        ("SELECT *, 1 AS one FROM cpu", False, False),
        ("SELECT * FROM cpu WHERE load > 1", False, False),
    ],
)
def test_a_query_takes_all_of_its_source_if_it_says_nothing_else(text: str, aliased: bool, expected: bool) -> None:
    start = text.index("cpu")
    reference = SourceReference(source="cpu", start=start, end=start + len("cpu"), aliased=aliased)
    assert SqlQuery(text=text, references=(reference,)).takes_all is expected
