"""The schema of a feed: columns and their Spark types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError

from freshtide.core.errors import Problem
from freshtide.core.feeds import Column
from freshtide.project.notation.validation import Place

_TYPE = exp.DataType.Type
_SIMPLE = {
    _TYPE.BOOLEAN,
    _TYPE.TINYINT,
    _TYPE.SMALLINT,
    _TYPE.INT,
    _TYPE.BIGINT,
    _TYPE.FLOAT,
    _TYPE.DOUBLE,
    _TYPE.DECIMAL,
    _TYPE.TEXT,
    _TYPE.CHAR,
    _TYPE.VARCHAR,
    _TYPE.BINARY,
    _TYPE.DATE,
    _TYPE.TIMESTAMPTZ,
    _TYPE.TIMESTAMPLTZ,
    _TYPE.TIMESTAMPNTZ,
}
_NESTED = {_TYPE.ARRAY: 1, _TYPE.MAP: 2, _TYPE.STRUCT: 1}
"""With how many types inside at least: sqlglot drops those that it does not know."""
_NOT_NULL = re.compile(r"\s+not\s+null\s*$", re.IGNORECASE)
_UNSTORABLE = set(" ,;{}()\n\t=")
"""Characters that Delta Lake allows in no column name."""

UNKNOWN = ""
"""The type of a column whose type is wrong: it exists, and nothing more can be said about it."""

_Report = Callable[..., None]
_Written = tuple[str, object, object, str | int]
"""Name, type and nullability as written, and the key or position they were written at."""


def read_schema(written: object, place: Place) -> tuple[tuple[Column, ...], list[Problem]]:
    """The columns of a schema, `{column: type}` or `[{name, type, nullable}]`, and what is wrong with it."""
    columns: dict[str, Column] = {}
    problems: list[Problem] = []

    def report(message: str, at: tuple[str | int, ...], way_out: str | None = None) -> None:
        problems.append(Problem(message=message, origin=place(("schema", *at)), way_out=way_out))

    if not isinstance(written, Mapping | list) or not written:
        report("'schema' must list the columns.", (), "Write each as `name: type`, like `cpu: double`.")
        return (), problems
    for name, type_text, nullable, at in _entries(written, report):
        if fault := column_name_fault(name):
            report(fault[0], (at,), fault[1])
            continue
        if name.lower() in columns:
            report(f"The column '{name}' is there twice.", (at,), "Spark does not tell upper from lower case.")
            continue
        column = _column(name, type_text, nullable)
        if column is None:
            report(
                f"'{type_text}' is not a Spark type (column '{name}').",
                (at,),
                "Types are like string, int, bigint, double, decimal(10,2), boolean, date, timestamp, array<int>.",
            )
        columns[name.lower()] = column or Column(name=name, type=UNKNOWN)
    return tuple(columns.values()), problems


def column_name_fault(name: str) -> tuple[str, str] | None:
    """What is wrong with the name of a column, and the way out."""
    if name and not _UNSTORABLE.intersection(name):
        return None
    return f"'{name}' cannot be the name of a column.", "Use no spaces and none of ,;{}()= in it."


def _entries(written: Mapping[object, object] | list[object], report: _Report) -> Iterator[_Written]:
    if isinstance(written, Mapping):
        for name, type_text in written.items():
            yield str(name), type_text, None, str(name)
        return
    for index, entry in enumerate(written):
        known = isinstance(entry, Mapping) and {"name", "type"} <= entry.keys() <= {"name", "type", "nullable"}
        if not isinstance(entry, Mapping) or not known or not isinstance(entry.get("nullable", True), bool):
            report(
                "A column in a list has a name, a type and perhaps nullable.",
                (index,),
                "Write it like {name: cpu, type: double, nullable: false}.",
            )
            continue
        yield str(entry["name"]), entry["type"], entry.get("nullable"), index


def _column(name: str, type_text: object, nullable: object) -> Column | None:
    if not isinstance(type_text, str):
        return None
    bare = _NOT_NULL.sub("", type_text)
    spark_type = normal_type(bare)
    if spark_type is None:
        return None
    return Column(name=name, type=spark_type, nullable=bare == type_text and nullable is not False)


def normal_type(text: str) -> str | None:
    """The type under the name Spark gives it (`long` is `bigint`), or None for what is no Spark type."""
    try:
        parsed = exp.DataType.build(text, dialect="spark")
    except SqlglotError:
        return None
    for inner in parsed.find_all(exp.DataType):
        if inner.this not in _SIMPLE and len(inner.expressions) < _NESTED.get(inner.this, len(text)):
            return None
    shown = parsed.sql(dialect="spark")
    # Within a struct there are field names, whose case is the user's.
    return shown if parsed.this in _NESTED else shown.lower()
