"""What queries at random are drawn from: relations, names, conditions.

What a query gives must not hang on anything that Spark is free to choose: orders are by all columns, what is added up
is exact, sets are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

Columns = Mapping[str, str]
NUMBERS = ("int", "bigint", "decimal", "double")
_MOST_COLUMNS = 6
LITERALS = {
    "int": "2",
    "bigint": "2L",
    "decimal": "0.25BD",
    "double": "0.5D",
    "real": "1D",
    "text": "'v'",
    "time": "TIMESTAMP '2024-03-31T01:30:00Z'",
    "date": "DATE '2024-03-31'",
    "flag": "true",
    "bytes": "X'00'",
    "list": "array(1)",
    "pair": "named_struct('p', 1, 'q', 'u')",
}
"""A value of each kind. `real` are doubles that are not added up any more: what comes out would hang on the order."""
CASTS = {
    "int": "INT",
    "bigint": "BIGINT",
    "decimal": "DECIMAL(30, 6)",
    "double": "DOUBLE",
    "real": "DOUBLE",
    "text": "STRING",
    "time": "TIMESTAMP",
    "date": "DATE",
    "flag": "BOOLEAN",
    "bytes": "BINARY",
    "list": "ARRAY<INT>",
    "pair": "STRUCT<p: INT, q: STRING>",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A query, the kinds of its columns, and what it is made of."""

    text: str
    columns: Columns
    top: str
    pairs: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    """Operators with the one directly above each."""

    def of(self, *kinds: str) -> list[str]:
        """Columns of these kinds."""
        return [name for name, kind in self.columns.items() if kind in kinds]


def quote(name: str) -> str:
    return f"`{name}`"


class Drawing:
    """Draws one query."""

    def __init__(self, rng: Random, tables: Mapping[str, Columns], operators: Mapping[str, Operator]) -> None:
        self.rng = rng
        self._operators = operators
        self._tables = tables
        self._names = 0

    def grown(self, size: int) -> Relation:
        relation = self._table()
        while size:
            name = self.rng.choice(sorted(self._operators))
            above = self._operators[name](self, relation)
            if above is None:
                continue
            pairs = relation.pairs | above.pairs | {(relation.top, name)}
            relation, size = self._narrow(replace(above, top=name, pairs=pairs)), size - 1
        return relation

    def name(self, stem: str = "t") -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def within_from(self, relation: Relation) -> tuple[str, str]:
        """A relation as it stands in FROM, and the name that its columns go by."""
        alias = self.name()
        return f"({relation.text}) AS {alias}", alias

    def one(self, names: list[str]) -> str:
        return self.rng.choice(names)

    def some(self, names: list[str], least: int, most: int) -> list[str]:
        found = self.rng.sample(names, min(len(names), self.rng.randint(least, most)))
        return sorted(found, key=names.index)

    def happens(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _narrow(self, relation: Relation) -> Relation:
        """So many columns that the text stays legible."""
        if len(relation.columns) <= _MOST_COLUMNS:
            return relation
        kept = self.some(list(relation.columns), _MOST_COLUMNS, _MOST_COLUMNS)
        source, _ = self.within_from(relation)
        text = f"SELECT {', '.join(map(quote, kept))} FROM {source}"
        return replace(relation, text=text, columns={name: relation.columns[name] for name in kept})

    def all_ordered(self, relation: Relation, alias: str) -> str:
        """An order in which only equal rows are equal."""
        names = self.some(list(relation.columns), len(relation.columns), len(relation.columns))
        self.rng.shuffle(names)
        return ", ".join(f"{alias}.{quote(name)}" + (" DESC" if self.happens(0.4) else "") for name in names)

    def condition(self, columns: Columns, alias: str) -> str:
        name = self.one(list(columns))
        here, kind = f"{alias}.{quote(name)}", columns[name]
        same = [other for other, its in columns.items() if its == kind and other != name]
        if same and self.happens(0.3):
            return f"{here} {self.one(['=', '<', '<>', '<=>'])} {alias}.{quote(self.one(same))}"
        drawn = self.one(["compared", "compared", "null", "either", "within"])
        literal = LITERALS[kind]
        if drawn == "null":
            return f"{here} IS {self.one(['', 'NOT '])}NULL"
        if drawn == "either":
            return f"({here} = {literal} OR {self.condition(columns, alias)})"
        if drawn == "within":
            return f"{here} IN ({literal}, NULL)" if self.happens(0.3) else f"{here} IN ({literal})"
        return f"{here} {self.one(['>', '<=', '<>', '='])} {literal}"

    def _table(self) -> Relation:
        name = self.one(sorted(self._tables))
        columns = dict(self._tables[name])
        alias = self.name()
        kept = self.some(list(columns), 2, len(columns))
        renamed = {self.name("c") if self.happens(0.5) else column: column for column in kept}
        listed = ", ".join(f"{alias}.{quote(column)} AS {quote(new)}" for new, column in renamed.items())
        text = f"SELECT {listed} FROM {name} AS {alias}"
        return Relation(text=text, columns={new: columns[column] for new, column in renamed.items()}, top="table")

    def other(self) -> Relation:
        """Something to be put beside a relation: a table, perhaps with an operator."""
        return self.grown(self.one_of((0, 0, 1)))

    def one_of(self, numbers: tuple[int, ...]) -> int:
        return self.rng.choice(numbers)


Operator = Callable[[Drawing, Relation], Relation | None]
"""What grows a relation; None where that has not got what it takes."""
