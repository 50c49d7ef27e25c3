"""A view's SQL as the user wrote it: what it reads, and where in the text it says so.

The text stays the user's own. Updates replace the names of sources in it by what they are to read, so every
reference carries its character offsets, and words that Spark does not know are blanked out in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from freshtide.core.errors import UsageError
from freshtide.core.tables import SourceReference

_SPARK = Dialect.get_or_raise("spark")
_OPENS_A_TABLE = frozenset({TokenType.FROM, TokenType.JOIN})
_ENDS_THE_FROM = frozenset(
    {
        TokenType.SELECT,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.QUALIFY,
        TokenType.WINDOW,
        TokenType.ORDER_BY,
        TokenType.SORT_BY,
        TokenType.CLUSTER_BY,
        TokenType.DISTRIBUTE_BY,
        TokenType.LIMIT,
        TokenType.UNION,
        TokenType.INTERSECT,
        TokenType.EXCEPT,
        TokenType.LATERAL,
    }
)
# sqlglot takes these for possible aliases; after a table they start a clause of their own.
_NEVER_A_NAME = frozenset({TokenType.LIMIT, TokenType.OFFSET, TokenType.PIVOT, TokenType.UNPIVOT})
_NAMES = SparkParser.TABLE_ALIAS_TOKENS - _NEVER_A_NAME

_NONDETERMINISTIC = frozenset(
    [
        "rand",
        "random",
        "randn",
        "randstr",
        "uniform",
        "uuid",
        "shuffle",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "input_file_block_start",
        "input_file_block_length",
        "current_timestamp",
        "now",
        "localtimestamp",
        "current_date",
        "curdate",
        "current_time",
        "unix_timestamp",
    ]
)


class SqlSyntaxError(UsageError):
    """A query text that is not one query, or not one that can be read."""

    def __init__(self, message: str, *, line: int, way_out: str | None = None) -> None:
        super().__init__(message, way_out=way_out)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """One query: its text, fit for Spark, its syntax tree and the sources it names."""

    text: str
    """The given text with STREAM keywords and closing semicolons blanked out: all offsets hold."""
    expression: exp.Expr
    references: tuple[SourceReference, ...]
    """In the order of the text."""
    streams: frozenset[str]
    """The sources marked as STREAM."""
    pipes: bool
    """Whether the query uses the pipe syntax, which sqlglot rewrites rather than represents."""
    first_line: int = 1


class _ViewParser(SparkParser):
    """Spark's parser, minus readings that lose what the text says.

    sqlglot reads `date_trunc('M', t)` as minutes, where Spark gives NULL, and a column `month` as the unit
    MONTH. As plain function calls they keep their arguments.
    """

    FUNCTIONS = {  # noqa: RUF012 - sqlglot's way to configure a parser
        name: build for name, build in SparkParser.FUNCTIONS.items() if name not in ("DATE_TRUNC", "TRUNC")
    }


def parse_query(text: str, *, first_line: int = 1) -> ParsedQuery:
    """Understand a single query; `first_line` is the line of the file at which the text starts."""
    tokens = _tokenize(text, first_line)
    if not tokens:
        raise SqlSyntaxError("The query is empty.", line=first_line, way_out="Write a SELECT.")
    blanked, streams = _without_streams(_without_semicolons(text, tokens, first_line), tokens)
    tokens = _tokenize(blanked, first_line)
    expression = _parse(blanked, tokens, first_line)
    _refuse_qualified_names(expression, blanked, first_line)
    references = references_in(expression)
    for reference in references:
        if _unquoted(blanked[reference.start : reference.end]) != reference.source:
            line = _line(blanked, reference.start, first_line)
            raise SqlSyntaxError(
                f"The name '{reference.source}' in line {line} cannot be located in the text.",
                line=line,
                way_out="Put it in backticks.",
            )
    return ParsedQuery(
        text=blanked,
        expression=expression,
        references=references,
        streams=streams,
        pipes=any(token.token_type is TokenType.PIPE_GT for token in tokens),
        first_line=first_line,
    )


def references_in(expression: exp.Expr) -> tuple[SourceReference, ...]:
    """The places of a parsed text that name a source; names of CTEs are none."""
    found = [
        SourceReference(
            source=table.name,
            start=table.this.meta["start"],
            end=table.this.meta["end"] + 1,
            aliased=bool(table.alias),
        )
        for table in source_tables(expression, frozenset())
    ]
    return tuple(sorted(found, key=lambda reference: reference.start))


def source_tables(node: exp.Expr, ctes: frozenset[str]) -> Iterator[exp.Table]:
    """The tables below a node that are no CTE in scope; `ctes` are the lower-cased names from outside."""
    if isinstance(node, exp.Hint):  # BROADCAST(b) repeats an alias, it reads nothing
        return
    if isinstance(node, exp.Table) and _is_source(node, ctes):
        yield node
    with_ = node.args.get("with_")
    if isinstance(with_, exp.With):
        for cte in with_.expressions:
            name = frozenset({cte.alias.lower()})
            yield from source_tables(cte.this, ctes | name if with_.recursive else ctes)
            ctes |= name
    for child in node.iter_expressions():
        if child is not with_:
            yield from source_tables(child, ctes)


def _is_source(table: exp.Table, ctes: frozenset[str]) -> bool:
    is_name = isinstance(table.this, exp.Identifier)  # not a table function
    return is_name and (bool(table.db) or table.name.lower() not in ctes)


def nondeterministic_functions(expression: exp.Expr) -> tuple[str, ...]:
    """The functions used whose value does not follow from the rows alone, in the order of the text."""
    names = (_nondeterministic_name(function) for function in expression.find_all(exp.Func, bfs=False))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _nondeterministic_name(function: exp.Func) -> str | None:
    if isinstance(function, exp.CurrentTimestamp) and isinstance(function.parent, exp.StrToUnix):
        return "unix_timestamp"  # sqlglot fills in the argument that the text leaves out
    names = [function.name] if isinstance(function, exp.Anonymous) else function.sql_names()
    return next((name.lower() for name in names if name.lower() in _NONDETERMINISTIC), None)


def _tokenize(text: str, first_line: int) -> list[Token]:
    try:
        return list(_SPARK.tokenize(text))
    except TokenError as error:
        cause = str(error.__cause__ or error)
        _, _, place = cause.partition(" from ")
        line = first_line + (int(place.partition(":")[0]) - 1 if place else 0)
        what = "a quote" if place else "a quote or a comment"
        raise SqlSyntaxError(
            f"The query does not parse: {what} opened in line {line} is never closed.", line=line
        ) from None


def _without_semicolons(text: str, tokens: Sequence[Token], first_line: int) -> str:
    """A closing semicolon would end the statement that the query is put into."""
    semicolons = [token for token in tokens if token.token_type is TokenType.SEMICOLON]
    if not semicolons:
        return text
    after = [t for t in tokens if t.start > semicolons[0].start and t.token_type is not TokenType.SEMICOLON]
    if after:
        line = _line(text, after[0].start, first_line)
        raise SqlSyntaxError(
            f"There is more than one statement: another one starts in line {line}.",
            line=line,
            way_out="Write one query.",
        )
    return _blank(text, semicolons)


def _without_streams(text: str, tokens: Sequence[Token]) -> tuple[str, frozenset[str]]:
    """Blank out `STREAM` before a source, and the parentheses of `STREAM(source)`."""
    blanks: list[Token] = []
    streams: set[str] = set()
    for position in _table_positions(tokens):
        word = tokens[position]
        if word.text.upper() != "STREAM" or word.token_type is TokenType.IDENTIFIER:
            continue
        rest = tokens[position + 1 :]
        if rest and rest[0].token_type in _NAMES:
            blanks.append(word)
            streams.add(rest[0].text)
        elif (end := _closing(rest)) is not None:
            blanks += [word, rest[0], rest[end]]
            streams.add(rest[1].text)
    return _blank(text, blanks), frozenset(streams)


def _closing(tokens: Sequence[Token]) -> int | None:
    """The index of the parenthesis that closes `(name)` or `(database.name)`; None for anything else."""
    if len(tokens) < 3 or tokens[0].token_type is not TokenType.L_PAREN:
        return None
    for index, token in enumerate(tokens[1:], start=1):
        if token.token_type is TokenType.R_PAREN:
            return index if index > 1 else None
        if token.token_type is not TokenType.DOT and token.token_type not in _NAMES:
            return None
    return None


def _table_positions(tokens: Sequence[Token]) -> Iterator[int]:
    """Where a table may be named: after FROM, after JOIN, and after the commas between tables."""
    in_from = [False]  # per open parenthesis
    for index, token in enumerate(tokens[:-1]):
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            in_from.append(False)
        elif kind is TokenType.R_PAREN and len(in_from) > 1:
            in_from.pop()
        elif kind in _ENDS_THE_FROM:
            in_from[-1] = False
        elif kind is TokenType.FROM:
            # `x IS DISTINCT FROM y` compares.
            in_from[-1] = index == 0 or tokens[index - 1].token_type is not TokenType.DISTINCT
        if kind in _OPENS_A_TABLE or (kind is TokenType.COMMA and in_from[-1]):
            yield index + 1


def _blank(text: str, tokens: Sequence[Token]) -> str:
    characters = list(text)
    for token in tokens:
        characters[token.start : token.end + 1] = " " * (token.end + 1 - token.start)
    return "".join(characters)


def _parse(text: str, tokens: list[Token], first_line: int) -> exp.Expr:
    _free_the_word_window(tokens)
    try:
        statements = _ViewParser(dialect=_SPARK).parse(tokens, text)
    except ParseError as error:
        raise _not_parsed(error, first_line) from None
    found = [statement for statement in statements if statement is not None]
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise SqlSyntaxError(
            f"The text that starts in line {first_line} is not a query.",
            line=first_line,
            way_out="Write a SELECT, with or without WITH and UNION.",
        )
    return found[0]


def _free_the_word_window(tokens: Sequence[Token]) -> None:
    """sqlglot reserves WINDOW; in Spark it is also a function and the name of that function's column."""
    for index, token in enumerate(tokens):
        following = tokens[index + 1 : index + 3]
        opens_clause = len(following) == 2 and following[1].token_type is TokenType.ALIAS
        if token.token_type is TokenType.WINDOW and not opens_clause:
            token.token_type = TokenType.VAR


def _not_parsed(error: ParseError, first_line: int) -> SqlSyntaxError:
    details = error.errors[0] if error.errors else {}
    line = first_line + (details.get("line") or 1) - 1
    description = str(details.get("description") or error).partition(" but got")[0]
    if description.startswith("Required keyword"):  # sqlglot's words for a part of its own syntax tree
        description = "something is missing there"
    near = f" near '{details['highlight']}'" if details.get("highlight") else ""
    return SqlSyntaxError(f"The query does not parse in line {line}{near}: {description}.", line=line)


def _refuse_qualified_names(expression: exp.Expr, text: str, first_line: int) -> None:
    for table in source_tables(expression, frozenset()):
        if table.db:
            start = table.this.meta.get("start", 0)
            written = ".".join(part.name for part in table.parts)
            line = _line(text, start, first_line)
            raise SqlSyntaxError(
                f"'{written}' in line {line} names a database; tables are named without one.",
                line=line,
                way_out=f"Write '{table.name}', and declare a table or view of that name.",
            )


def _line(text: str, offset: int, first_line: int) -> int:
    return first_line + text.count("\n", 0, offset)


def _unquoted(written: str) -> str:
    return written[1:-1].replace("``", "`") if written.startswith("`") else written
