"""Understanding SQL: what a query reads, how its rows depend on time and keys, what a CREATE statement declares.

Texts go in, and answers come out that know nothing of projects, files or Spark: sqlglot parses, the rules about time,
keys and shapes are ours.
"""

from freshtide.sql.columns import columns_of_former
from freshtide.sql.ddl import TableKind, read_create
from freshtide.sql.expressions import ExpressionError, check_row_expression
from freshtide.sql.keys import grouped_columns, key_fault
from freshtide.sql.rowtimes import nests
from freshtide.sql.shapes import Shape, SourceShape, shape_of
from freshtide.sql.statements import Statement, StatementError, split_statements
from freshtide.sql.text import ParsedQuery, SqlSyntaxError, nondeterministic_functions, parse_query

__all__ = [
    "ExpressionError",
    "ParsedQuery",
    "Shape",
    "SourceShape",
    "SqlSyntaxError",
    "Statement",
    "StatementError",
    "TableKind",
    "check_row_expression",
    "columns_of_former",
    "grouped_columns",
    "key_fault",
    "nests",
    "nondeterministic_functions",
    "parse_query",
    "read_create",
    "shape_of",
    "split_statements",
]
