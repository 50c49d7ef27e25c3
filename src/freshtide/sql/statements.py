"""SQL files to statements, split where a semicolon is a semicolon and no part of a text or comment."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from freshtide.core.errors import FreshtideError


class StatementError(FreshtideError):
    """A statement that cannot be understood, and the line of the file at which it goes wrong."""

    def __init__(self, message: str, *, line: int, way_out: str | None = None) -> None:
        super().__init__(message, way_out=way_out)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement: its tokens (at least one), which point into the text of the file."""

    file_text: str
    tokens: tuple[Token, ...]

    @property
    def text(self) -> str:
        """As written, from the first token to the last."""
        return self.text_from(self.tokens[0])

    def text_from(self, token: Token) -> str:
        return self.file_text[token.start : self.tokens[-1].end + 1]

    def line_of(self, token: Token) -> int:
        """The line of the file that the token begins in."""
        return self.file_text.count("\n", 0, token.start) + 1


def split_statements(text: str) -> list[Statement]:
    """The statements of a SQL file, in order."""
    statements: list[Statement] = []
    tokens: list[Token] = []
    for token in _tokenized(text):
        if token.token_type is not TokenType.SEMICOLON:
            tokens.append(token)
        elif tokens:
            statements.append(Statement(file_text=text, tokens=tuple(tokens)))
            tokens = []
    if tokens:
        statements.append(Statement(file_text=text, tokens=tuple(tokens)))
    return statements


def _tokenized(text: str) -> list[Token]:
    try:
        return _SPARK.tokenize(text)
    except SqlglotError as error:
        raise StatementError(
            "A quote or comment that begins here does not end.", line=_open_line(text), way_out="Close it."
        ) from error


def _open_line(text: str) -> int:
    """The line in which a quote or comment begins that never ends: after the last line that can be read."""
    lines = text.split("\n")
    for count in range(len(lines) - 1, 0, -1):
        try:
            _SPARK.tokenize("\n".join(lines[:count]))
        except SqlglotError:
            continue
        return count + 1
    return 1


_SPARK = Dialect.get_or_raise("spark")
