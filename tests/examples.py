"""What is tried how often: a part of the examples in the quick suite, all of them in the slow one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

IS_THOROUGH = bool(os.environ.get("FRESHTIDE_TEST_THOROUGHLY"))
"""Whether this is the slow suite."""
_ONE_IN = 5


def examples(number: int) -> int:
    """How many examples a property is tried with: so many in the slow suite, a few in the quick one."""
    return number if IS_THOROUGH else max(2, number // _ONE_IN)


def slow_except(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Parameters that repeat a test: all but the quick ones run in the slow suite."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
