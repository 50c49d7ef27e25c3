"""Expressions of a single row: what can be said of them before Spark sees them."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from freshtide.core.errors import UsageError, suggestion
from freshtide.sql.text import SqlSyntaxError, nondeterministic_functions, parse_query

# Names of columns only where no function wants one of these: TIMESTAMPADD(MINUTE, minutes, day).
_UNITS = frozenset(
    "YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND".split()  # noqa: SIM905 - a list
)
_OF_SEVERAL_ROWS = (exp.AggFunc, exp.Window, exp.Explode, exp.Inline, exp.Stack)


class ExpressionError(UsageError):
    """What is not an expression of one row."""


def check_row_expression(text: str, columns: Collection[str]) -> None:
    """An ExpressionError unless the text is one value, computed from these columns of a row and nothing else."""
    expression = _parsed(text)
    if expression.find(exp.Query):
        raise ExpressionError("holds a query, and it is computed from one row.", way_out="Use columns of the feed.")
    if several := expression.find(*_OF_SEVERAL_ROWS):
        name = several.sql_name().lower() if isinstance(several, exp.Func) else "a window"
        raise ExpressionError(f"uses {name}, which works on several rows, or makes several.", way_out=_ONE_VALUE)
    if changing := nondeterministic_functions(expression):
        raise ExpressionError(
            f"uses {changing[0]}(), whose value does not follow from the row: read again, the row would have "
            "another time.",
            way_out="Compute it from the columns of the feed alone.",
        )
    own = {name.name.lower() for inner in expression.find_all(exp.Lambda) for name in inner.expressions}
    known = {name.lower() for name in columns}
    for column in expression.find_all(exp.Column, bfs=False):
        first = column.parts[0].name
        if first.lower() not in known | own and first.upper() not in _UNITS:
            raise ExpressionError(
                f"names the column '{first}', which is not in the schema.", way_out=suggestion(first, columns)
            )


_ONE_VALUE = "Write one value of a row, like to_timestamp(concat(day, ' ', clock), 'yyyy-MM-dd HHmm')."


def _parsed(text: str) -> exp.Expr:
    if not text.strip():
        raise ExpressionError("is empty.", way_out=_ONE_VALUE)
    try:
        select = parse_query(f"SELECT {text}").expression
    except SqlSyntaxError as error:
        told = error.message.removeprefix("The query ")
        raise ExpressionError(told if told != error.message else f"is wrong: {told}", way_out=_ONE_VALUE) from error
    is_one = isinstance(select, exp.Select) and len(select.expressions) == 1
    more = {clause for clause, value in select.args.items() if value} - {"expressions"}
    if not is_one or more or isinstance(select.expressions[0], exp.Alias | exp.Star):
        raise ExpressionError("is not a single value.", way_out=_ONE_VALUE)
    value: exp.Expr = select.expressions[0]
    return value
