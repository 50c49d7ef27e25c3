"""Priorities handed down from dependents to their sources (Golab et al. 2011, section 3.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshtide.scheduling import (
    Inheritance,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    SumInheritance,
)

from .bench import PLAIN, Bench, arrival, table

# base -> left, right; left and right -> end
OWN = {"base": 1.0, "left": 2.0, "right": 3.0, "end": 10.0}
DEPENDENTS = {"base": ["left", "right"], "left": ["end"], "right": ["end"], "end": []}


@pytest.mark.parametrize(
    ("inheritance", "expected"),
    [
        (NoInheritance(), {"base": 1.0, "left": 2.0, "right": 3.0, "end": 10.0}),
        (SumInheritance(), {"base": 16.0, "left": 12.0, "right": 13.0, "end": 10.0}),
        (MaxInheritance(), {"base": 10.0, "left": 10.0, "right": 10.0, "end": 10.0}),
        (MaxPlusInheritance(k=2.0), {"base": 40.0, "left": 20.0, "right": 20.0, "end": 10.0}),
    ],
)
def test_priorities_over_a_diamond(inheritance: Inheritance, expected: dict[str, float]) -> None:
    assert inheritance.priorities(OWN, DEPENDENTS) == expected


def test_a_source_goes_first_for_the_sake_of_what_is_computed_from_it() -> None:
    tables = (
        table("plain", priority=5.0, freshness=0.0, safe=0.0),
        table("source", priority=0.001, freshness=0.0, safe=0.0),
        table("view", "source", priority=100.0, freshness=0.0, safe=0.0),
    )
    both = (arrival("plain", 1.0), arrival("source", 1.0))
    alone = Bench(*tables)
    alone.happens(*both)
    assert alone.started() == ["plain"]
    inheriting = Bench(*tables, policy=replace(PLAIN, inheritance=MaxInheritance()))
    inheriting.happens(*both)
    assert inheriting.started() == ["source"]
