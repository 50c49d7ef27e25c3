"""The head of a CREATE statement: what is created, under which name, with which settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sqlglot import Token, TokenType

from freshtide.sql.statements import Statement, StatementError

_TEXTS = (TokenType.STRING, TokenType.RAW_STRING)


class TableKind(StrEnum):
    STREAMING_TABLE = "streaming table"
    MATERIALIZED_VIEW = "materialized view"


_KINDS = {"STREAMING TABLE": TableKind.STREAMING_TABLE, "MATERIALIZED VIEW": TableKind.MATERIALIZED_VIEW}
_WAYS_OUT = {
    "SELECT": "Put `CREATE MATERIALIZED VIEW name AS` before the SELECT.",
    "WITH": "Put `CREATE MATERIALIZED VIEW name AS` before the SELECT.",
    "INSERT": "Tables are filled by the query that they are created with: put it into their CREATE statement.",
    "CREATE FLOW": "Put the query into the CREATE STREAMING TABLE statement of the table.",
    "CREATE VIEW": "Write CREATE MATERIALIZED VIEW.",
    "CREATE TEMPORARY": "Use a WITH clause in the query that needs it, or CREATE MATERIALIZED VIEW.",
    "CREATE TEMP": "Use a WITH clause in the query that needs it, or CREATE MATERIALIZED VIEW.",
}
_ANY_WAY_OUT = (
    "Statements are CREATE STREAMING TABLE name AS SELECT ... FROM STREAM feed and "
    "CREATE MATERIALIZED VIEW name AS SELECT ..."
)


@dataclass(slots=True, kw_only=True)
class Head:
    """What a CREATE statement says before its SELECT. Filled clause by clause while it is read."""

    kind: TableKind
    name: str
    line: int
    values: dict[str, object] = field(default_factory=dict)
    """Settings by name: the properties, and the clauses that say the same."""
    lines: dict[str, int] = field(default_factory=dict)
    """The line of each setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatement:
    """A CREATE statement taken apart."""

    head: Head
    query: str
    """The SELECT, exactly as written."""
    query_line: int


def read_create(statement: Statement) -> TableStatement:
    """Take a CREATE statement apart, or say what is wrong with it."""
    reader = _Reader(statement)
    head = reader.opening()
    while not reader.accepts("AS"):
        reader.clause(head)
    first = reader.peek()
    if first is None:
        raise reader.error(f"The {head.kind} '{head.name}' has no SELECT after AS.")
    return TableStatement(head=head, query=statement.text_from(first), query_line=statement.line_of(first))


class _Reader:
    """Goes through the tokens of one statement."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._position = 0

    def opening(self) -> Head:
        """CREATE [OR REFRESH] STREAMING TABLE|MATERIALIZED VIEW [IF NOT EXISTS] name"""
        start = self._words(2)
        if not self.accepts("CREATE"):
            raise self.error(f"'{_short(start)}' is not a statement for tables.", _way_out(start))
        if self.accepts("OR", "REPLACE"):
            raise self.error(
                "OR REPLACE is not needed: a view whose query has changed is rebuilt by itself.",
                "Take OR REPLACE out.",
            )
        self.accepts("OR", "REFRESH")
        kind = next((kind for words, kind in _KINDS.items() if self.accepts(*words.split())), None)
        if kind is None:
            made = f"CREATE {self._words(1)}".strip()
            raise self.error(f"'{made}' is not a statement for tables.", _way_out(made))
        self.accepts("IF", "NOT", "EXISTS")
        token = self.peek()
        name = self._name(f"The {kind} has no name.")
        if self._next_is("."):
            raise self.error(
                f"'{name}.' is no part of a table's name: all tables of a project are in one place.",
                "Write the name alone.",
            )
        if self._next_is("("):
            raise self.error(
                f"'{name}' has a list of columns, but names and types come from the SELECT.",
                "Take the list out, and write `CAST(x AS type) AS name` in the SELECT where you need it.",
            )
        return Head(kind=kind, name=name, line=self._statement.line_of(token) if token else 1)

    def clause(self, head: Head) -> None:
        token = self.peek()
        line = self._line()
        if token is None:
            raise self.error(f"The {head.kind} '{head.name}' has no query.", "End it with AS SELECT ...")
        if self.accepts("PARTITIONED", "BY"):
            self._set(head, "partition_by", self._columns(), line)
        elif self.accepts("COMMENT"):
            self._set(head, "comment", self._text("COMMENT is followed by a text in quotes."), line)
        elif self.accepts("TBLPROPERTIES"):
            self._properties(head)
        elif self._next_is("USING"):
            raise self.error("All tables are Delta Lake tables.", "Take the USING clause out.")
        else:
            raise self.error(
                f"'{self._words(1)}' is not understood here.",
                "Before AS there can be PARTITIONED BY (...), COMMENT '...' and TBLPROPERTIES (...).",
            )

    def accepts(self, *words: str) -> bool:
        """Step over these words, if they come next. sqlglot makes one token of some of them."""
        wanted = " ".join(words)
        for count in range(1, len(words) + 1):
            if self._words(count) == wanted:
                self._position += count
                return True
        return False

    def peek(self) -> Token | None:
        tokens = self._statement.tokens
        return tokens[self._position] if self._position < len(tokens) else None

    def error(self, message: str, way_out: str | None = None) -> StatementError:
        return StatementError(message, line=self._line(), way_out=way_out)

    def _properties(self, head: Head) -> None:
        self._expect("(", "TBLPROPERTIES is followed by ('name' = 'value', ...).")
        while True:
            line = self._line()
            key = self._key()
            self.accepts("=")
            self._set(head, key, self._value(key), line)
            if not self.accepts(","):
                break
        self._expect(")", "After a property comes a comma or a closing parenthesis.")

    def _key(self) -> str:
        token = self.peek()
        if token is not None and token.token_type in _TEXTS:
            return self._text("")
        key = self._name("The name of a property is missing.")
        while self.accepts("."):
            key += "." + self._name("The name of a property ends in a dot.")
        return key

    def _value(self, key: str) -> str:
        token = self.peek()
        if token is None or token.text in (",", ")", "("):
            raise self.error(f"The property '{key}' has no value.", f"Write '{key}' = '...'.")
        if token.token_type in _TEXTS:
            return self._text("")
        self._position += 1
        return token.text

    def _columns(self) -> tuple[str, ...]:
        self._expect("(", "PARTITIONED BY is followed by columns in parentheses.")
        columns = [self._name("PARTITIONED BY names no column.")]
        while self.accepts(","):
            columns.append(self._name("PARTITIONED BY ends in a comma."))
        self._expect(")", "PARTITIONED BY lists plain columns: name a computed one in the SELECT first.")
        return tuple(columns)

    def _text(self, missing: str) -> str:
        """A text in quotes. Of 'it''s' sqlglot makes two tokens without a gap."""
        token = self.peek()
        if token is None or token.token_type not in _TEXTS:
            raise self.error(missing)
        self._position += 1
        text, end = token.text, token.end
        while (token := self.peek()) is not None and token.token_type in _TEXTS and token.start == end + 1:
            text, end = f"{text}'{token.text}", token.end
            self._position += 1
        return text

    def _name(self, missing: str) -> str:
        token = self.peek()
        is_word = token is not None and (token.text[:1].isalpha() or token.text[:1] == "_")
        if token is None or token.token_type in _TEXTS or not (is_word or _is_quoted(token)):
            raise self.error(missing)
        self._position += 1
        return token.text

    def _expect(self, word: str, message: str) -> None:
        if not self.accepts(word):
            raise self.error(message)

    def _set(self, head: Head, key: str, value: object, line: int) -> None:
        if key in head.values:
            raise StatementError(
                f"'{key}' is given twice, first in line {head.lines[key]}.", line=line, way_out="Keep one of them."
            )
        head.values[key], head.lines[key] = value, line

    def _next_is(self, word: str) -> bool:
        return self._words(1) == word

    def _words(self, count: int) -> str:
        """The next tokens in upper case, one space between words; a text in quotes is no word."""
        tokens = self._statement.tokens[self._position : self._position + count]
        texts = ("'...'" if token.token_type in _TEXTS or _is_quoted(token) else token.text for token in tokens)
        return " ".join(" ".join(texts).upper().split())

    def _line(self) -> int:
        tokens = self._statement.tokens
        return self._statement.line_of(tokens[min(self._position, len(tokens) - 1)])


def _is_quoted(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER


def _short(words: str) -> str:
    return words if words.startswith("CREATE") else words.split(" ", maxsplit=1)[0]


def _way_out(words: str) -> str:
    return next((way for start, way in _WAYS_OUT.items() if words.startswith(start)), _ANY_WAY_OUT)
