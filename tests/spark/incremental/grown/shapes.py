"""Operators that make of each row what it tells, and those that put rows of two relations below each other."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.incremental.grown.drawing import CASTS, LITERALS, Drawing, Relation, quote


def filtered(draw: Drawing, below: Relation) -> Relation:
    source, alias = draw.within_from(below)
    condition = draw.condition(below.columns, alias)
    if draw.happens(0.3):
        condition = f"NOT ({condition} AND {draw.condition(below.columns, alias)})"
    return replace(below, text=f"SELECT * FROM {source} WHERE {condition}")


def project(draw: Drawing, below: Relation) -> Relation:
    source, alias = draw.within_from(below)
    columns: dict[str, str] = {}
    listed: list[str] = []
    for name in draw.some(list(below.columns), 1, len(below.columns)):
        expression, kind = _expression(draw, f"{alias}.{quote(name)}", below.columns[name])
        new = draw.name("e")
        columns[new] = kind
        listed.append(f"{expression} AS {new}")
    if draw.happens(0.2):
        columns["fixed"] = "int"
        listed.append("7 AS fixed")
    return replace(below, text=f"SELECT {', '.join(listed)} FROM {source}", columns=columns)


def _expression(draw: Drawing, here: str, kind: str) -> tuple[str, str]:
    choices: list[tuple[str, str]] = [(here, kind), (f"coalesce({here}, {LITERALS[kind]})", kind)]
    match kind:
        case "int" | "bigint":
            choices += [(f"{here} % 2", kind), (f"CAST({here} AS STRING)", "text"), (f"{here} > 1", "flag")]
        case "decimal":
            choices += [(f"{here} > 0", "flag"), (f"CAST(-{here} AS DECIMAL(30, 6))", "decimal")]
        case "double":
            choices += [(f"{here} + 0.25D", kind)]
        case "text":
            choices += [(f"upper({here})", kind), (f"concat({here}, 'u')", kind), (f"length({here})", "int")]
        case "time":
            choices += [(f"to_date({here})", "date"), (f"{here} + INTERVAL 1 HOUR", kind)]
        case "list":
            choices += [(f"size({here})", "int"), (f"try_element_at({here}, 1)", "int")]
        case "pair":
            choices += [(f"{here}.p", "int"), (f"{here}.q", "text")]
    return draw.rng.choice(choices)


def distinct(draw: Drawing, below: Relation) -> Relation:
    source, _ = draw.within_from(below)
    return replace(below, text=f"SELECT DISTINCT * FROM {source}")


def union(draw: Drawing, below: Relation) -> Relation:
    return _set_operation(draw, below, "UNION ALL")


def set_operation(draw: Drawing, below: Relation) -> Relation:
    words = ["UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]
    return _set_operation(draw, below, draw.one(words))


def _set_operation(draw: Drawing, below: Relation, words: str) -> Relation:
    """With another relation whose columns are made to fit."""
    source, _ = draw.within_from(below)
    other = draw.other()
    beside, alias = draw.within_from(other)
    left = list(other.columns)
    listed: list[str] = []
    for kind in below.columns.values():
        same = [name for name in left if other.columns[name] == kind]
        if same:
            name = draw.one(same)
            left.remove(name)
            listed.append(f"{alias}.{quote(name)}")
        else:
            listed.append(f"CAST({draw.one(['NULL', LITERALS[kind]])} AS {CASTS[kind]})")
    text = f"SELECT * FROM {source} {words} SELECT {', '.join(listed)} FROM {beside}"
    return replace(below, text=text, pairs=other.pairs | {(other.top, "union" if "ALL" in words else "set")})


def explode(draw: Drawing, below: Relation) -> Relation:
    source, alias = draw.within_from(below)
    lists = below.of("list")
    name = draw.one(lists or list(below.columns))
    here = f"{alias}.{quote(name)}"
    values, kind = (here, "int") if lists else (f"array({here}, {here})", below.columns[name])
    new, view = draw.name("x"), draw.name()
    text = f"SELECT * FROM {source} LATERAL VIEW {draw.one(['', 'OUTER '])}explode({values}) {view} AS {new}"
    return replace(below, text=text, columns={**below.columns, new: kind})
