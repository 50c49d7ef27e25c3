"""docs/guarantees.md names tests that exist."""

from __future__ import annotations

from guards.promises import PAGE, named_tests, unknown_tests


def test_the_tests_that_the_page_names_exist() -> None:
    named = list(named_tests(PAGE.read_text(encoding="utf-8")))
    assert len(named) > 50
    assert unknown_tests(named) == []
