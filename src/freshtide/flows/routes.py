"""Whether two routes of a router overlap, as far as their conditions prove it.

A row that fits both is looked for among the values next to the constants in the conditions. One that is found is a
proof; where none is found, or a condition is more than comparisons of columns with constants, nothing is claimed.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

Value = int | float | str | bool | None
Row = Mapping[str, Value]

_COMPARISONS: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: eq,
    exp.NEQ: ne,
    exp.LT: lt,
    exp.LTE: le,
    exp.GT: gt,
    exp.GTE: ge,
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_ROWS = 10_000


class _NotUnderstoodError(Exception):
    """A condition that is more than comparisons of columns with constants."""


def overlap(one: str, other: str) -> str | None:
    """Why the conditions overlap, to follow a colon; None where that is not proven."""
    try:
        first, second = (sqlglot.parse_one(text, dialect="spark") for text in (one, other))
    except SqlglotError:
        return None
    if first.sql(dialect="spark", normalize=True) == second.sql(dialect="spark", normalize=True):
        return "they are the same"
    try:
        for row in _rows(first, second):
            if _truth(first, row) is True and _truth(second, row) is True:
                fitting = " and ".join(_shown(column, value) for column, value in row.items())
                return f"{fitting} fits both"
    except (_NotUnderstoodError, OverflowError):  # an overflow: a constant is beyond all numbers
        return None
    return None


def _rows(*conditions: exp.Expr) -> Iterator[Row]:
    """Rows with values at and next to the constants that their columns are compared with."""
    constants: dict[str, set[Value]] = {}
    for condition in conditions:
        for column in condition.find_all(exp.Column):
            values = constants.setdefault(_name(column), set())
            around = column.parent
            if around is not None:
                values |= {_constant(each) for each in around.find_all(exp.Literal, exp.Boolean)}
    candidates = [sorted(_near(values), key=repr) for values in constants.values()]
    if math.prod(len(each) for each in candidates) > _MOST_ROWS:
        raise _NotUnderstoodError
    for row in itertools.product(*candidates):
        yield dict(zip(constants, row, strict=True))


def _near(constants: set[Value]) -> set[Value]:
    """The constants and values beside them that a column could hold, be it of whole numbers or of dates."""
    found: set[Value] = {None}
    for value in constants:
        found.add(value)
        if isinstance(value, bool):
            found |= {True, False}
        elif isinstance(value, int | float):
            # The sign of a constant is not part of it.
            found |= {math.floor(signed) + step for signed in (value, -value) for step in (-1, 0, 1, 2)} | {-value}
        elif isinstance(value, str):
            found |= {"0001-01-01", "9999-12-31"} if _DATE.match(value) else {f"{value}0"}
    return found


def _truth(condition: exp.Expr, row: Row) -> bool | None:
    """SQL's three values: a comparison with NULL is neither true nor false."""
    match condition:
        case exp.Paren():
            return _truth(condition.this, row)
        case exp.Not():
            return _negated(_truth(condition.this, row))
        case exp.And():
            return _all(_truth(condition.left, row), _truth(condition.right, row))
        case exp.Or():
            return _any(_truth(condition.left, row), _truth(condition.right, row))
    return _predicate(condition, row)


def _predicate(condition: exp.Expr, row: Row) -> bool | None:
    match condition:
        case exp.Is() if isinstance(condition.expression, exp.Null):
            return _value(condition.this, row) is None
        case exp.Between():
            value = _value(condition.this, row)
            low, high = (_value(condition.args[key], row) for key in ("low", "high"))
            return _all(_compared(ge, value, low), _compared(le, value, high))
        case exp.In() if condition.expressions:
            value = _value(condition.this, row)
            return _any(*(_compared(eq, value, _value(each, row)) for each in condition.expressions))
        case exp.Boolean():
            return bool(condition.this)
        case exp.Binary() if type(condition) in _COMPARISONS:
            compare = _COMPARISONS[type(condition)]
            return _compared(compare, _value(condition.left, row), _value(condition.right, row))
    raise _NotUnderstoodError


def _all(*parts: bool | None) -> bool | None:
    if False in parts:
        return False
    return None if None in parts else True


def _any(*parts: bool | None) -> bool | None:
    return _negated(_all(*(_negated(part) for part in parts)))


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _compared(compare: Callable[[Any, Any], bool], left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, str) != isinstance(right, str):
        raise _NotUnderstoodError
    return compare(left, right)


def _value(expression: exp.Expr, row: Row) -> Value:
    match expression:
        case exp.Column():
            return row[_name(expression)]
        case exp.Neg():
            value = _value(expression.this, row)
            return -value if isinstance(value, int | float) else value
        case exp.Cast() if isinstance(expression.this, exp.Literal) and expression.to.is_type("date"):
            return _constant(expression.this)
        case exp.Literal() | exp.Boolean():
            return _constant(expression)
        case exp.Null():
            return None
        case exp.Paren():
            return _value(expression.this, row)
    raise _NotUnderstoodError


def _constant(expression: exp.Expr) -> Value:
    if isinstance(expression, exp.Boolean):
        return bool(expression.this)
    text = str(expression.this)
    if expression.is_string:
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)


def _name(column: exp.Column) -> str:
    # With what it is a field of: a.x and b.x are two.
    return column.sql(dialect="spark").lower()


def _shown(column: str, value: Value) -> str:
    return f"{column} IS NULL" if value is None else f"{column} = {exp.convert(value).sql(dialect='spark')}"
