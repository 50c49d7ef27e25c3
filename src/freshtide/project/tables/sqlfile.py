"""Tables in SQL: the statements of tables/*.sql, in the DDL of Spark's declarative pipelines."""

from __future__ import annotations

import re

from freshtide.core.errors import Origin, Problem
from freshtide.project.declarations import Declarations, DeclaredTable
from freshtide.project.tables.properties import read_properties
from freshtide.sql import SqlSyntaxError, Statement, StatementError, parse_query, read_create, split_statements

_CREATED = re.compile(r"\b(?:table|view)\s+`?(\w+)", re.IGNORECASE)


def declare_sql(text: str, file: str, declarations: Declarations) -> None:
    """Declare the tables of a SQL file; `file` is what messages call it."""
    try:
        statements = split_statements(text)
    except StatementError as error:
        declarations.reject([_problem(error, file)], names=_CREATED.findall(text))
        return
    for statement in statements:
        try:
            _declare(statement, file, declarations)
        except StatementError as error:
            declarations.reject([_problem(error, file)], names=_CREATED.findall(statement.text)[:1])


def _declare(statement: Statement, file: str, declarations: Declarations) -> None:
    create = read_create(statement)
    head = create.head
    origin = Origin(file=file, line=head.line)

    def place(path: tuple[str | int, ...]) -> Origin:
        return Origin(file=file, line=head.lines.get(str(path[0]), head.line)) if path else origin

    properties, problems = read_properties(head.values, place)
    try:
        query = parse_query(create.query, first_line=create.query_line)
    except SqlSyntaxError as error:
        # Told together with what is wrong with the properties: they were written in one go.
        problems.append(_problem(error, file))
        query = None
    if properties is None or query is None:
        declarations.reject(problems, names=[head.name])
        return
    declarations.add_table(
        DeclaredTable(name=head.name, kind=head.kind, query=query, properties=properties, origin=origin)
    )


def _problem(error: StatementError | SqlSyntaxError, file: str) -> Problem:
    return Problem(message=error.message, origin=Origin(file=file, line=error.line), way_out=error.way_out)
