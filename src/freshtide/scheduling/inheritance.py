"""Inherited priority: a source matters as much as what is computed from it (Golab et al. 2011, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol


class Inheritance(Protocol):
    """Gives every table the priority it is scheduled with."""

    @property
    def name(self) -> str: ...

    def priorities(self, own: Mapping[str, float], dependents: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Of tables in an order in which sources come before what is computed from them, to their direct dependents."""
        ...


@dataclass(frozen=True, slots=True)
class NoInheritance:
    """A table has its own priority alone."""

    name: ClassVar[str] = "none"

    def priorities(self, own: Mapping[str, float], dependents: Mapping[str, Sequence[str]]) -> dict[str, float]:  # noqa: ARG002
        return dict(own)


@dataclass(frozen=True, slots=True)
class SumInheritance:
    """A table has the sum of the priorities of itself and of all its dependents, direct or not."""

    name: ClassVar[str] = "sum"

    def priorities(self, own: Mapping[str, float], dependents: Mapping[str, Sequence[str]]) -> dict[str, float]:
        return {table: sum(own[reached] for reached in _reachable(table, dependents)) for table in own}


@dataclass(frozen=True, slots=True)
class MaxInheritance:
    """A table has the largest of the priorities of itself and of all its dependents, direct or not."""

    name: ClassVar[str] = "max"

    def priorities(self, own: Mapping[str, float], dependents: Mapping[str, Sequence[str]]) -> dict[str, float]:
        return MaxPlusInheritance(k=1.0).priorities(own, dependents)


@dataclass(frozen=True, slots=True)
class MaxPlusInheritance:
    """Like max, but each step from a dependent to its source multiplies by K, which favours long chains.

    The paper multiplies at every table, those at the end of a chain included. That differs by the factor K for all
    tables alike, which no ordering can tell.
    """

    k: float
    name: ClassVar[str] = "max-plus"

    def priorities(self, own: Mapping[str, float], dependents: Mapping[str, Sequence[str]]) -> dict[str, float]:
        inherited: dict[str, float] = {}
        for table in reversed(list(own)):
            inherited[table] = max([own[table], *(self.k * inherited[dependent] for dependent in dependents[table])])
        return {table: inherited[table] for table in own}


def inherited_targets(
    own: Mapping[str, float | None], dependents: Mapping[str, Sequence[str]]
) -> dict[str, float | None]:
    """The shortest target lag of a table and of all its dependents, direct or not; None where none is set.

    What is computed from a table is at least as stale as that. `own` has sources before what is computed from them.
    """
    inherited: dict[str, float | None] = {}
    for table in reversed(list(own)):
        asked = [own[table], *(inherited[dependent] for dependent in dependents[table])]
        inherited[table] = min((target for target in asked if target is not None), default=None)
    return inherited


def inherited_from(
    inheritance: Inheritance,
    table: str,
    own: Mapping[str, float],
    scheduled: Mapping[str, float],
    dependents: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """The dependents whose priority a table is scheduled with: all of them in a sum, otherwise one or none."""
    if scheduled[table] == own[table]:
        return ()
    if isinstance(inheritance, SumInheritance):
        reached = _reachable(table, dependents)
        return tuple(other for other in own if other in reached and other != table)
    giver = table
    while scheduled[giver] != own[giver]:
        giver = max(dependents[giver], key=lambda dependent: scheduled[dependent])
    return (giver,)


def _reachable(table: str, dependents: Mapping[str, Sequence[str]]) -> set[str]:
    reached, front = {table}, [table]
    while front:
        for dependent in dependents[front.pop()]:
            if dependent not in reached:
                reached.add(dependent)
                front.append(dependent)
    return reached
