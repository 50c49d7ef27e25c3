"""Operators that look for partners in another relation: joins, EXISTS, IN, single values."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.incremental.grown.drawing import Drawing, Relation, quote


def _partners(draw: Drawing, below: Relation) -> tuple[Relation, str, str] | None:
    """Another relation, and columns of both that can be equal."""
    for _ in range(4):
        other = draw.other()
        shared = [(mine, its) for mine, kind in below.columns.items() for its in other.of(kind)]
        if shared:
            mine, its = draw.rng.choice(shared)
            return other, mine, its
    return None


def _joined(draw: Drawing, below: Relation, name: str, words: str, *, both: bool) -> Relation | None:
    found = _partners(draw, below)
    if found is None:
        return None
    other, mine, its = found
    source, alias = draw.within_from(below)
    beside, second = draw.within_from(other)
    left, right = f"{alias}.{quote(mine)}", f"{second}.{quote(its)}"
    on = f"{left} {draw.one(['=', '=', '=', '<=>'])} {right}"
    if below.columns[mine] == "text" and draw.happens(0.3):
        on = f"upper({left}) = upper({right})"
    if draw.happens(0.25):
        on += f" AND {draw.condition(other.columns, second)}"
    if draw.happens(0.15):
        on += f" AND {draw.condition(below.columns, alias)}"
    given = [(alias, column, kind) for column, kind in below.columns.items()]
    if both:
        given += [(second, column, kind) for column, kind in other.columns.items()]
    named = [(draw.name("j"), *one) for one in given]
    listed = ", ".join(f"{by}.{quote(column)} AS {new}" for new, by, column, _ in named)
    text = f"SELECT {listed} FROM {source} {words} JOIN {beside} ON {on}"
    columns = {new: kind for new, _, _, kind in named}
    return replace(below, text=text, columns=columns, pairs=other.pairs | {(other.top, name)})


def inner_join(draw: Drawing, below: Relation) -> Relation | None:
    return _joined(draw, below, "inner join", "INNER", both=True)


def left_join(draw: Drawing, below: Relation) -> Relation | None:
    return _joined(draw, below, "left join", "LEFT", both=True)


def right_join(draw: Drawing, below: Relation) -> Relation | None:
    return _joined(draw, below, "right join", "RIGHT", both=True)


def full_join(draw: Drawing, below: Relation) -> Relation | None:
    return _joined(draw, below, "full join", "FULL", both=True)


def semi_join(draw: Drawing, below: Relation) -> Relation | None:
    return _joined(draw, below, "semi join", "LEFT SEMI", both=False)


def anti_join(draw: Drawing, below: Relation) -> Relation | None:
    return _joined(draw, below, "anti join", "LEFT ANTI", both=False)


def exists(draw: Drawing, below: Relation) -> Relation | None:
    found = _partners(draw, below)
    if found is None:
        return None
    other, mine, its = found
    source, alias = draw.within_from(below)
    beside, second = draw.within_from(other)
    met = f"{second}.{quote(its)} = {alias}.{quote(mine)}"
    condition = f"{draw.one(['', 'NOT '])}EXISTS (SELECT 1 FROM {beside} WHERE {met})"
    if draw.happens(0.3):
        condition += f" OR {draw.condition(below.columns, alias)}"
    pairs = other.pairs | {(other.top, "exists")}
    return replace(below, text=f"SELECT * FROM {source} WHERE {condition}", pairs=pairs)


def within(draw: Drawing, below: Relation) -> Relation | None:
    found = _partners(draw, below)
    if found is None:
        return None
    other, mine, its = found
    source, alias = draw.within_from(below)
    beside, second = draw.within_from(other)
    asked = f"{alias}.{quote(mine)} {draw.one(['', '', 'NOT '])}IN (SELECT {second}.{quote(its)} FROM {beside})"
    if draw.happens(0.3):
        asked += f" OR {draw.condition(below.columns, alias)}"
    pairs = other.pairs | {(other.top, "in")}
    return replace(below, text=f"SELECT * FROM {source} WHERE {asked}", pairs=pairs)


def scalar(draw: Drawing, below: Relation) -> Relation | None:
    """A single value of another relation in a condition or beside each row."""
    other = draw.other()
    kinds = [kind for kind in below.columns.values() if other.of(kind)]
    if not kinds:
        return None
    kind = draw.one(kinds)
    mine, its = draw.one(below.of(kind)), draw.one(other.of(kind))
    source, alias = draw.within_from(below)
    beside, second = draw.within_from(other)
    value = f"(SELECT {draw.one(['min', 'max'])}({second}.{quote(its)}) FROM {beside})"
    pairs = other.pairs | {(other.top, "scalar subquery")}
    if draw.happens(0.5):
        condition = f"{alias}.{quote(mine)} {draw.one(['<', '=', '>='])} {value}"
        return replace(below, text=f"SELECT * FROM {source} WHERE {condition}", pairs=pairs)
    text = f"SELECT {alias}.*, {value} AS single FROM {source}"
    columns = {name: its for name, its in below.columns.items() if name != "single"}
    return (
        replace(below, text=text, columns={**columns, "single": kind}, pairs=pairs)
        if len(columns) == len(below.columns)
        else None
    )
