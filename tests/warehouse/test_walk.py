"""The walk of a file through the house, as docs/design.md tells it: it is short, and a real load goes that way."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import freshtide
from tests.warehouse.shop import Shop

_HOUSE = Path(freshtide.__file__).parent
_DESIGN = Path(__file__).parents[2] / "docs" / "design.md"
_HOP = re.compile(r"^\d+\. `(?P<module>[\w/]+)\.py: (?P<function>[\w.]+)`(?P<told>, told `\w+`)?", re.MULTILINE)
_SHORT = 40


class Hop(NamedTuple):
    module: str
    function: str
    is_told: bool
    """Whether it begins with a message, on another thread."""

    @property
    def package(self) -> str:
        return self.module.partition("/")[0]

    def code(self) -> CodeType:
        found: Any = importlib.import_module("freshtide." + self.module.replace("/", "."))
        for name in self.function.split("."):
            found = getattr(found, name)
        code: CodeType = getattr(found, "__wrapped__", found).__code__
        return code


def hops(heading: str) -> list[Hop]:
    _, _, rest = _DESIGN.read_text().partition(f"\n### {heading}\n")
    section = re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return [Hop(found["module"], found["function"], bool(found["told"])) for found in _HOP.finditer(section)]


TO_THE_COMMIT = hops("From the folder to the commit")
AFTERWARDS = hops("After the commit")


class Footsteps:
    """Which functions are called, in the order of time, each with the one of the house that it is called by."""

    def __init__(self, codes: set[CodeType]) -> None:
        self._codes = codes
        self.calls: list[tuple[CodeType, CodeType | None]] = []

    def __enter__(self) -> Footsteps:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code in self._codes:
            self.calls.append((frame.f_code, _caller(frame)))


def _caller(frame: FrameType) -> CodeType | None:
    """The nearest function of the house above: not what is written within one, nor the library that calls back."""
    above = frame.f_back
    while above is not None:
        code = above.f_code
        if code.co_filename.startswith(str(_HOUSE)) and not code.co_name.startswith("<"):
            return code
        above = above.f_back
    return None


def test_the_walk_of_a_file_is_short_and_enters_no_package_twice_but_for_the_scheduler() -> None:
    assert 30 < len(TO_THE_COMMIT) <= _SHORT
    packages = [hop.package for hop in TO_THE_COMMIT if hop.package != "scheduling"]
    entered = [package for package, _ in groupby(packages)]
    assert entered == ["feeds", "catalog", "runtime", "spark", "storage"]


def test_a_file_takes_the_walk_that_is_written_down_and_every_function_on_it_is_named(shop: Shop) -> None:
    walk = [*TO_THE_COMMIT, *AFTERWARDS]
    codes = [hop.code() for hop in walk]
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 10)])
    with Footsteps(set(codes)) as footsteps:
        shop.load()
    assert len(shop.rows("a")) == 1

    calls = iter(footsteps.calls)
    for place, (hop, code) in enumerate(zip(walk, codes, strict=True)):
        if hop.is_told:
            # It may have been called before, to wait for what it is told.
            found = any(called is code for called, _ in footsteps.calls)
        else:
            # The first is where somebody looks whether there is anything to walk with.
            callers = codes[:place]
            found = any(called is code and (caller in callers or not place) for called, caller in calls)
        assert found, f"{hop.module}.py: {hop.function} is not called by what stands before it, or not in this order"
