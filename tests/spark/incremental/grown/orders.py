"""Operators that look at rows in an order, which is always one of all columns."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.incremental.grown.drawing import Drawing, Relation, quote


def top(draw: Drawing, below: Relation) -> Relation:
    source, alias = draw.within_from(below)
    text = f"SELECT * FROM {source} ORDER BY {draw.all_ordered(below, alias)} LIMIT {draw.one_of((1, 2, 3))}"
    return replace(below, text=text)


def _over(draw: Drawing, below: Relation, alias: str) -> str:
    keys = ", ".join(f"{alias}.{quote(name)}" for name in draw.some(list(below.columns), 0, 2))
    partition = f"PARTITION BY {keys} " if keys else ""
    return f"{partition}ORDER BY {draw.all_ordered(below, alias)}"


def first_by_key(draw: Drawing, below: Relation) -> Relation:
    source, alias = draw.within_from(below)
    place = draw.name("w")
    inner = f"SELECT *, row_number() OVER ({_over(draw, below, alias)}) AS {place} FROM {source}"
    outer = draw.name()
    text = f"SELECT * FROM ({inner}) AS {outer} WHERE {outer}.{place} <= {draw.one_of((1, 2))}"
    return replace(below, text=text, columns={**below.columns, place: "int"})


def running(draw: Drawing, below: Relation) -> Relation:
    source, alias = draw.within_from(below)
    name = draw.one(list(below.columns))
    here, kind = f"{alias}.{quote(name)}", below.columns[name]
    over, new = _over(draw, below, alias), draw.name("w")
    rows = draw.one(["ROWS UNBOUNDED PRECEDING", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"])
    choices = [
        (f"lag({here}) OVER ({over})", kind),
        (f"lead({here}, 2) OVER ({over})", kind),
        (f"count({here}) OVER ({over} {rows})", "bigint"),
        (f"max({here}) OVER ({over} {rows})", kind),
        (f"first_value({here}) OVER ({over})", kind),
    ]
    if kind in ("int", "bigint", "decimal"):
        choices += [(f"sum({here}) OVER ({over} {rows})", "bigint" if kind == "int" else kind)] * 3
    text, result = draw.rng.choice(choices)
    return replace(below, text=f"SELECT *, {text} AS {new} FROM {source}", columns={**below.columns, new: result})
