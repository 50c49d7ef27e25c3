"""What base and derived tables have in common: the query for the core, and the columns it puts out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from freshtide.core.errors import FreshtideError, suggestion
from freshtide.core.tables import FunctionQuery, Query, SqlQuery, Table
from freshtide.project.declarations import DeclaredTable
from freshtide.project.tables.sources import ResolvedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltTable:
    """A table, and what is known of the columns it has: dependents with `SELECT *` ask for them."""

    table: Table
    columns: tuple[str, ...] | None


class TableError(FreshtideError):
    """A declaration that no table can be made of."""


def core_query(resolved: ResolvedTable) -> Query:
    """The query with its sources under the names that they were declared with."""
    query = resolved.declared.query
    if isinstance(query, FunctionQuery):
        parameters = {key: resolved.names[source] for key, source in query.parameters.items()}
        return replace(query, parameters=parameters)
    return SqlQuery(
        text=query.text,
        references=tuple(replace(reference, source=resolved.names[reference.source]) for reference in query.references),
        first_line=query.first_line,
    )


def check_partition_columns(declared: DeclaredTable, columns: tuple[str, ...] | None) -> None:
    """Refuse to partition by what the query does not put out; None where its columns are not known."""
    if columns is None or not all(columns):
        return
    known = {column.lower() for column in columns}
    for column in declared.properties.partition_by:
        if column.lower() not in known:
            raise TableError(
                f"'{declared.name}' is partitioned by '{column}', which is no column of it.",
                way_out=suggestion(column, columns),
            )
