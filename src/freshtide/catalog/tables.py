"""The state of each table, for those who look on and for the next start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from freshtide.catalog.database import Database
from freshtide.catalog.schema import tables
from freshtide.core.choosing import Learnt
from freshtide.core.costs import CostModel
from freshtide.core.definitions import Former
from freshtide.core.secrets import redacted
from freshtide.core.tables import SourceReference, SqlQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A table as the catalog knows it."""

    name: str
    status: str = "active"
    reason: str | None = None
    number: int = 0
    version: int = -1
    freshness: float | None = None
    safe: float | None = None
    definition: str | None = None
    cost: CostModel = field(default_factory=CostModel)
    counts: dict[str, int] = field(default_factory=dict)
    updates: int = 0
    failures: int = 0
    busy: float = 0.0
    """Seconds spent in the updates of which it is known how long they took."""
    timed: int = 0
    """How many these are: of those that were booked after a crash, or from a log alone, nobody knows."""
    since: float | None = None
    """When it became part of the warehouse, if it was away or new then; None where nobody knows."""
    learnt: Learnt = field(default_factory=Learnt)
    """Of a view: what updates of it have taken in full and from changes."""
    query: SqlQuery | None = None
    """Of a view in SQL: what its definition was made of."""

    @property
    def former(self) -> Former | None:
        """How it was defined at its last update, where that is known."""
        if self.definition is None or self.query is None:
            return None
        return Former(definition=self.definition, query=self.query)

    @property
    def mean_seconds(self) -> float | None:
        """How long an update takes, of those of which that is known."""
        return self.busy / self.timed if self.timed else None


_ADVANCED = tuple(name for name in TableRow.__slots__ if name not in {"name", "status", "reason", "cost", "failures"})
_ALL = select(tables)
_OF = tables.c.name == bindparam("table")
_GET = select(tables).where(_OF)
_CHANGE = update(tables).where(_OF)
_COUNT_FAILURE = _CHANGE.values(failures=tables.c.failures + 1)
_ADD = insert(tables)
_FORGET = delete(tables).where(tables.c.name.not_in(bindparam("kept", expanding=True)))


class TableStates:
    """One row per table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, TableRow]:
        with self._database.reading() as connection:
            rows = connection.execute(_ALL).mappings()
            return {row["name"]: _row(dict(row)) for row in rows}

    def get(self, name: str) -> TableRow:
        """The row of a table, a new one where there is none yet."""
        with self._database.reading() as connection:
            row = connection.execute(_GET, {"table": name}).mappings().first()
            return TableRow(name=name) if row is None else _row(dict(row))

    def put(self, row: TableRow) -> None:
        values = _values(row)
        with self._database.writing() as connection:
            changed = connection.execute(_CHANGE, {**values, "table": row.name})
            if not changed.rowcount:
                connection.execute(_ADD, values)

    def advance(self, row: TableRow, *, within: Connection | None = None) -> None:
        """Write what an update has changed; status and costs are other threads' to write."""
        values = {name: getattr(row, name) for name in _ADVANCED} | _in_json(row)
        with self._database.writing(within) as connection:
            connection.execute(_CHANGE, {**values, "table": row.name})

    def count_failure(self, name: str) -> None:
        with self._database.writing() as connection:
            connection.execute(_COUNT_FAILURE, {"table": name})

    def set_costs(self, costs: Mapping[str, CostModel]) -> None:
        with self._database.writing() as connection:
            for name, cost in costs.items():
                connection.execute(_CHANGE, {"table": name, "cost": asdict(cost)})

    def set_status(self, name: str, status: str, reason: str | None = None) -> None:
        """Also of a table that has no row yet."""
        told = None if reason is None else redacted(reason)
        with self._database.writing() as connection:
            values = {"status": status, "reason": told}
            changed = connection.execute(_CHANGE, {**values, "table": name})
            if not changed.rowcount:
                row = TableRow(name=name)
                connection.execute(_ADD, {**_values(row), **values})

    def forget_all_but(self, names: Iterable[str]) -> None:
        """Drop the rows of tables that are no longer declared."""
        with self._database.writing() as connection:
            connection.execute(_FORGET, {"kept": list(names)})


def _values(row: TableRow) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in TableRow.__slots__}
    return own | {"cost": asdict(row.cost)} | _in_json(row)


def _row(values: dict[str, Any]) -> TableRow:
    # Earlier versions did not count these apart.
    timed = values["updates"] if values["timed"] is None else values["timed"]
    read = {"cost": CostModel(**(values["cost"] or {})), "counts": values["counts"] or {}, "timed": timed}
    told = values["query"]
    if told is not None:
        told = SqlQuery(**{**told, "references": tuple(SourceReference(**one) for one in told["references"])})
    return TableRow(**{**values, **read, "learnt": Learnt.from_json(values["learnt"]), "query": told})


def _in_json(row: TableRow) -> dict[str, Any]:
    return {"learnt": row.learnt.as_json(), "query": None if row.query is None else asdict(row.query)}
