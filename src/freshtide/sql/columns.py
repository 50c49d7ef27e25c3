"""A query that differs from a former one by its columns alone: what they are of the columns that there were."""

from __future__ import annotations

from sqlglot import exp

from freshtide.sql.text import SqlSyntaxError, parse_query

_OF_SEVERAL_ROWS = (exp.AggFunc, exp.Window, exp.Explode, exp.Inline, exp.Stack, exp.Query)


def columns_of_former(query: str, former: str) -> tuple[str, ...] | None:
    """The columns of a query as expressions of the columns of a former one, row by row; None where they are not.

    It goes by the text: whether the rows are the same, too, is for those to prove who know what the text means.
    """
    try:
        new, old = parse_query(query).expression, parse_query(former).expression
    except SqlSyntaxError:
        return None
    if not isinstance(new, exp.Select) or not isinstance(old, exp.Select) or _besides(new) != _besides(old):
        return None
    known = {column.unalias(): column.alias_or_name for column in old.expressions}
    found = [_over(column, known) for column in new.expressions]
    told = tuple(column for column in found if column is not None)
    return told if len(told) == len(found) else None


def _besides(select: exp.Select) -> exp.Expr:
    """All of it but its columns."""
    others = select.copy()
    others.set("expressions", [])
    return others


def _over(column: exp.Expr, known: dict[exp.Expr, str]) -> str | None:
    """A column by what is known under a name; None where it is computed from anything else."""
    name = column.alias_or_name
    if not name or column.is_star:
        return None
    taken: list[exp.Expr] = []

    def exchanged(part: exp.Expr) -> exp.Expr:
        if part not in known:
            return part
        taken.append(exp.column(known[part], quoted=True))
        return taken[-1]

    value = column.unalias().copy().transform(exchanged)
    if value.find(*_OF_SEVERAL_ROWS) or any(one not in taken for one in value.find_all(exp.Column)):
        return None
    return f"{value.sql(dialect='spark')} AS {exp.to_identifier(name, quoted=True).sql(dialect='spark')}"
