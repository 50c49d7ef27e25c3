"""Aggregate functions: what is kept of a group, so that more rows, or fewer, need not be looked for among the others.

A function merges if what it makes of a group follows from what it has made of it and of new rows. It undoes if that is
so for rows that have gone as well. What does neither is computed anew for each group that has changed. Sums of floating
point numbers are not undone: what is left of a large number that has come and gone would stay in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py4j.java_gateway import JavaObject

from freshtide.spark.incremental.plans import SIGN, kind_of

_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
_FLOATS = {"float", "double"}
_DECIMAL = re.compile(r"decimal\((?P<digits>\d+),\s*(?P<scale>\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """A figure that is kept of a group; all are SQL."""

    name: str
    gathered: str
    """From rows with signs."""
    merged: str
    """From what was kept (`old`) and what is gathered (`new`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """An aggregate function as it stands in a query."""

    java: JavaObject
    buffers: tuple[Buffer, ...]
    value: str | None
    """SQL, from what is kept; None: the function itself evaluates its figures, which are the buffers."""
    merges: bool
    undoes: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(buffer.name for buffer in self.buffers)


def function_of(java: JavaObject, place: int) -> Function:
    """What is known of an AggregateExpression, whose arguments are the columns `a<place>_<number>`."""
    function = java.aggregateFunction()
    kind = kind_of(function)
    make = None if java.isDistinct() else _KNOWN.get(kind)
    known = None if make is None else make(java, _Argument(java, function, place))
    return known or Function(java=java, buffers=(_whole(place),), value=f"f{place}", merges=False, undoes=False)


def argument_column(place: int, number: int) -> str:
    return f"a{place}_{number}"


def filter_column(place: int) -> str:
    return f"if{place}"


class _Argument:
    """The rows that a function looks at."""

    def __init__(self, java: JavaObject, function: JavaObject, place: int) -> None:
        self.place = place
        self.kinds = [str(child.dataType().sql()).lower() for child in _children(function)]
        self.result = str(java.dataType().sql())
        self.function = function
        columns = [argument_column(place, number) for number in range(len(self.kinds))]
        self.value = columns[0]
        counts = [f"{column} IS NOT NULL" for column in columns]
        if java.filter().isDefined():
            self.value = f"CASE WHEN {filter_column(place)} THEN {self.value} END"
            counts.append(f"coalesce({filter_column(place)}, false)")
        self.counts = " AND ".join(counts)

    @property
    def kind(self) -> str:
        return self.kinds[0]

    def buffer(self, part: str, gathered: str, merged: Callable[[str, str], str]) -> Buffer:
        name = f"f{self.place}{part}"
        return Buffer(name=name, gathered=gathered, merged=merged(f"old.{name}", f"new.{name}"))

    def number(self) -> Buffer:
        """How many values there are."""
        gathered = f"coalesce(sum(CASE WHEN {self.counts} THEN {SIGN} ELSE 0 END), 0L)"
        return self.buffer("_n", gathered, lambda old, new: f"coalesce({old}, 0L) + {new}")

    def total(self, kind: str) -> Buffer:
        # The least number of a type has no counterpart in it: that of what has gone is a number of a wider one.
        value = self.value if self.kind.startswith("decimal") else f"CAST({self.value} AS {kind})"
        signed = f"CASE WHEN {SIGN} > 0 THEN {value} ELSE -({value}) END"
        gathered = f"coalesce(CAST(sum({signed}) AS {kind}), CAST(0 AS {kind}))"
        return self.buffer("_s", gathered, lambda old, new: f"CAST(coalesce({old}, 0) + {new} AS {kind})")


def _children(function: JavaObject) -> list[JavaObject]:
    children = function.children()
    return [children.apply(place) for place in range(children.size())]


def _whole(place: int) -> Buffer:
    """A result that is kept as it is."""
    return Buffer(name=f"f{place}", gathered="", merged="")


def _count(java: JavaObject, argument: _Argument) -> Function:
    number = argument.number()
    return Function(java=java, buffers=(number,), value=number.name, merges=True, undoes=True)


def _sum(java: JavaObject, argument: _Argument) -> Function | None:
    if argument.kind not in _INTEGERS | _FLOATS and not _adds_exactly(argument.result):
        return None
    total, number = argument.total(argument.result), argument.number()
    value = f"CASE WHEN {number.name} > 0 THEN {total.name} END"
    return Function(java=java, buffers=(total, number), value=value, merges=True, undoes=argument.kind not in _FLOATS)


def _average(java: JavaObject, argument: _Argument) -> Function | None:
    number = argument.number()
    if argument.kind.startswith("decimal"):
        kind = str(_buffer_types(argument.function)[0])
        if not _adds_exactly(kind):
            return None
        # As Spark divides it, which rounds: it is given what it would have added up and counted.
        total = argument.total(kind)
        return Function(java=java, buffers=(total, number), value=None, merges=True, undoes=True)
    if argument.kind in _INTEGERS:
        total = argument.total("DECIMAL(38, 0)")
    elif argument.kind in _FLOATS:
        total = argument.total("DOUBLE")
    else:
        return None
    value = f"CASE WHEN {number.name} > 0 THEN CAST({total.name} AS DOUBLE) / CAST({number.name} AS DOUBLE) END"
    return Function(java=java, buffers=(total, number), value=value, merges=True, undoes=argument.kind in _INTEGERS)


def _adds_exactly(kind: str) -> bool:
    """Whether Spark adds two such decimals without leaving out the last digit to make room for a first one."""
    found = _DECIMAL.fullmatch(kind.lower())
    return found is not None and (int(found["digits"]) < 38 or int(found["scale"]) <= 6)


def _buffer_types(function: JavaObject) -> list[str]:
    attributes = function.aggBufferAttributes()
    return [str(attributes.apply(place).dataType().sql()) for place in range(attributes.size())]


def _extreme(least: str, gathering: str) -> Callable[[JavaObject, _Argument], Function]:
    def made(java: JavaObject, argument: _Argument) -> Function:
        buffer = argument.buffer("_m", f"{gathering}({argument.value})", lambda old, new: f"{least}({old}, {new})")
        return Function(java=java, buffers=(buffer,), value=buffer.name, merges=True, undoes=False)

    return made


_KNOWN: dict[str, Callable[[JavaObject, _Argument], Function | None]] = {
    "Count": _count,
    "Sum": _sum,
    "Average": _average,
    "Min": _extreme("least", "min"),
    "Max": _extreme("greatest", "max"),
}


def buffer_attributes(function: Function) -> Sequence[JavaObject]:
    """The columns that a function evaluates its figures by."""
    attributes = function.java.aggregateFunction().aggBufferAttributes()
    return [attributes.apply(place) for place in range(attributes.size())]
