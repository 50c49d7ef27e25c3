"""What docs/guarantees.md promises, and which tests it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guarantees.md"
TESTS = ROOT / "tests"
_NAMED = re.compile(r"`(?P<file>[\w/]+\.py)?(?:::(?P<test>test_\w+))?`")
_HEADER = "| promise | under which faults | test |"
# Tests in these folders start Spark; the others have their verdict within seconds.
_WITH_SPARK = ("trust/", "warehouse/", "spark/", "cli/")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTest:
    """A test as the page names it, relative to `tests/`; without a function it is a whole file."""

    file: str
    function: str | None

    def __str__(self) -> str:
        return f"{self.file}::{self.function}" if self.function else self.file

    @property
    def needs_spark(self) -> bool:
        return self.file.startswith(_WITH_SPARK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A row of one of the page's tables."""

    part: str
    text: str
    tests: tuple[NamedTest, ...]


def promises(page: str) -> list[Promise]:
    """The promises of the page, in its order."""
    found: list[Promise] = []
    part, within = "", False
    for line in page.splitlines():
        if line.startswith("## "):
            part = line.removeprefix("## ")
        if line == _HEADER:
            within = True
        elif not line.startswith("|"):
            within = False
        elif within and not line.startswith("|---"):
            text, _, tests = (cell.strip() for cell in line.strip("|").split("|"))
            found.append(Promise(part=part, text=text, tests=tuple(named_tests(tests))))
    return found


def named_tests(text: str) -> Iterator[NamedTest]:
    """The tests that a text names; a function without a file is in the file named before it."""
    file: str | None = None
    for found in _NAMED.finditer(text):
        file = found["file"] or file
        if file is not None and (found["file"] or found["test"]):
            yield NamedTest(file=file, function=found["test"])


def unknown_tests(tests: Iterable[NamedTest]) -> list[str]:
    """Those of the tests that are not there."""
    named = list(tests)
    functions = {file: _functions(TESTS / file) for file in {test.file for test in named}}
    return [str(test) for test in named if test.function not in functions[test.file]]


def _functions(file: Path) -> set[str | None]:
    """The functions of a file of tests, and None for the file itself."""
    if not file.exists():
        return set()
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {None, *(node.name for node in nodes if isinstance(node, ast.FunctionDef))}
