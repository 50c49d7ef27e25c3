"""The statements that SQLAlchemy writes, handed to SQLite without its engine: the catalog asks thousands in a run.

It offers as much of an engine as the catalog uses. Statements are compiled by SQLAlchemy, each once; what is bound and
what is found goes through the same types. Held equal to a real engine by `tests/faults/test_plainsql.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Any, Protocol

from sqlalchemy import JSON, Insert, Select
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

_DIALECT = SQLiteDialect_pysqlite(paramstyle="qmark")
_NOTHING: Mapping[str, Any] = {}
_Process = Callable[[Any], Any]


class Line(Protocol):
    """A connection to a database."""

    def cursor(self) -> sqlite3.Cursor: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


class PlainEngine:
    """Stands in for an engine."""

    def __init__(self, line: Line) -> None:
        self._connection = PlainConnection(line)
        self._line = line

    def connect(self) -> PlainConnection:
        return self._connection

    def begin(self) -> PlainTransaction:
        return PlainTransaction(self._line, self._connection)

    def dispose(self) -> None:
        """The database goes on without it."""


class PlainTransaction:
    """What is written within it is there afterwards, or nothing of it."""

    def __init__(self, line: Line, connection: PlainConnection) -> None:
        self._line = line
        self._connection = connection

    def __enter__(self) -> PlainConnection:
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        try:
            if kind is None:
                self._line.commit()
        finally:
            self._line.rollback()  # Of what is left: nothing, if it was committed.


class PlainConnection:
    """Stands in for a connection; what was not committed when it is left is taken back."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def __enter__(self) -> PlainConnection:
        return self

    def __exit__(self, *_error: object) -> None:
        self._line.rollback()

    def execute(self, statement: Any, asked: Any = None) -> Found:
        if isinstance(asked, list):
            return Found([row for each in asked for row in self.execute(statement, each)])
        asked = asked or _NOTHING
        question = _question(statement, tuple(asked))
        cursor = self._line.cursor()
        try:
            cursor.execute(*question.bound(asked))
        except sqlite3.IntegrityError as error:
            raise IntegrityError(str(statement), asked, error) from error
        if question.row is not None:
            return Found(question.read(cursor.fetchall()), cursor.rowcount)
        return Found([], cursor.rowcount, (cursor.lastrowid,))

    def scalars(self, statement: Any, asked: Any = None) -> Found:
        return Found([row[0] for row in self.execute(statement, asked)])

    def scalar(self, statement: Any, asked: Any = None) -> Any:
        row = self.execute(statement, asked).first()
        return None if row is None else row[0]


@dataclass(slots=True)
class Found:
    """Stands in for a result: rows, mappings or values."""

    rows: list[Any]
    rowcount: int = -1
    inserted_primary_key: tuple[int | None, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def all(self) -> list[Any]:
        return self.rows

    def first(self) -> Any:
        return self.rows[0] if self.rows else None

    def one(self) -> Any:
        (row,) = self.rows
        return row

    def one_or_none(self) -> Any:
        return self.one() if self.rows else None

    def mappings(self) -> Found:
        return Found([dict(zip(row._fields, row, strict=True)) for row in self.rows])


@dataclass(slots=True, kw_only=True)
class _Expanded:
    """A statement for lists of certain lengths."""

    sql: str
    in_order: Callable[[Mapping[str, Any]], Sequence[Any]]
    """What is bound, from the values by their names."""
    fixed: Mapping[str, Any]
    """What the statement itself binds."""
    processes: Sequence[tuple[str, _Process]]
    """What of that which is asked is not as SQLite has it."""
    lists: Sequence[tuple[str, Sequence[str], _Process | None]]
    """By what is asked with the names of its parts."""


@dataclass(slots=True, kw_only=True)
class _Question:
    """A statement as it is compiled for the names that it is asked with."""

    compiled: SQLCompiler
    row: Callable[[Iterable[Any]], Any] | None
    """Makes a row; None where nothing is read."""
    processes: Sequence[tuple[int, _Process]]
    """Columns that are not as SQLite has them."""
    lists: tuple[str, ...]
    defaults: Mapping[str, Any]
    expanded: dict[tuple[int, ...], _Expanded] = field(default_factory=dict)

    def bound(self, asked: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
        """What SQLite is asked."""
        lengths = tuple([len(asked[name]) for name in self.lists]) if self.lists else ()
        found = self.expanded.get(lengths)
        if found is None:
            found = self.expanded[lengths] = self._expand(asked)
        if not (found.fixed or found.processes or found.lists):
            return found.sql, found.in_order(asked)
        values = {**found.fixed, **asked}
        for name, process in found.processes:
            values[name] = process(asked[name])
        for name, parts, process_part in found.lists:
            for part, value in zip(parts, asked[name], strict=True):
                values[part] = value if process_part is None else process_part(value)
        return found.sql, found.in_order(values)

    def _expand(self, asked: Mapping[str, Any]) -> _Expanded:
        state = self.compiled.construct_expanded_state({**self.defaults, **asked})
        parts = {name: state.parameter_expansion.get(name, []) for name in self.lists}
        known = {*asked, *(part for each in parts.values() for part in each)}
        return _Expanded(
            sql=state.statement,
            in_order=_picking(state.positiontup or ()),
            fixed={
                name: value if (process := self._process(name)) is None else process(value)
                for name, value in state.parameters.items()
                if name not in known
            },
            processes=[
                (name, process)
                for name in asked
                if name in state.parameters and (process := self._process(name)) is not None
            ],
            lists=[(name, each, self._process(name)) for name, each in parts.items()],
        )

    def _process(self, name: str) -> _Process | None:
        bind = self.compiled.binds.get(name)
        return None if bind is None else bind.type.dialect_impl(_DIALECT).bind_processor(_DIALECT)

    def read(self, rows: list[Any]) -> list[Any]:
        assert self.row is not None, "it reads nothing"
        if not self.processes:
            return [self.row(row) for row in rows]
        return [self.row(self._processed(row)) for row in rows]

    def _processed(self, row: Iterable[Any]) -> list[Any]:
        values = list(row)
        for place, process in self.processes:
            values[place] = process(values[place])
        return values


def _reading(kind: TypeEngine[Any]) -> _Process | None:
    if isinstance(kind, JSON):
        return _from_json
    process: _Process | None = kind.dialect_impl(_DIALECT).result_processor(_DIALECT, None)
    return process


def _from_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _picking(names: Sequence[str]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: [values[name] for name in names]


@cache
def _question(statement: Any, names: tuple[str, ...]) -> _Question:
    compiled = statement.compile(dialect=_DIALECT, column_keys=list(names))
    columns = list(statement.selected_columns) if isinstance(statement, Select) else []
    if isinstance(statement, Insert):
        columns = list(statement.exported_columns)
    processes = [_reading(column.type) for column in columns]
    make: Any = namedtuple
    row = make("row", [column.key for column in columns], rename=True)
    binds = compiled.binds
    return _Question(
        compiled=compiled,
        row=row._make if columns else None,
        processes=[(place, process) for place, process in enumerate(processes) if process is not None],
        lists=tuple(name for name in names if name in binds and binds[name].expanding),
        defaults={column.key: column.default.arg for column in compiled.insert_prefetch},
    )
