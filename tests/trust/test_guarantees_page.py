"""docs/guarantees.md names tests that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_TESTS = Path(__file__).parents[1]
_PAGE = _TESTS.parent / "docs" / "guarantees.md"
_NAMED = re.compile(r"`(?P<file>[\w/]+\.py)?(?:::(?P<test>test_\w+))?`")


def _named() -> Iterator[tuple[Path, str | None]]:
    """(file, test) as the page names them; a test without a file is in the file named before it."""
    file: Path | None = None
    for found in _NAMED.finditer(_PAGE.read_text(encoding="utf-8")):
        if found["file"]:
            file = _TESTS / found["file"]
        if file is not None and (found["file"] or found["test"]):
            yield file, found["test"]


def test_the_tests_that_the_page_names_exist() -> None:
    named = list(_named())
    functions = {
        file: {
            node.name
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
        }
        for file, _ in named
        if file.exists()
    }
    missing = [(file, test) for file, test in named if file not in functions or (test and test not in functions[file])]
    assert len(named) > 50
    assert missing == []
