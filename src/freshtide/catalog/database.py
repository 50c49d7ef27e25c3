"""The catalog's database: how it is read, and how it is written by a run that others may take it over from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError


class Database:
    """The only way to the engine for those who keep books in it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.before_commit: Callable[[Connection], None] = lambda _connection: None
        """Asked last in each transaction that writes; what it raises undoes the transaction."""

    def reading(self) -> Connection:
        return self._engine.connect()

    @contextmanager
    def writing(self, joined: Connection | None = None) -> Iterator[Connection]:
        """The transaction that is being joined, or one of its own: all that is written in it is there, or nothing."""
        if joined is not None:
            yield joined
            return
        try:
            # Not an event of the engine: with any of those, each reading becomes half as slow again.
            with self.writing_unasked() as connection:
                yield connection
                self.before_commit(connection)
        except IntegrityError:
            # Who looks before it writes breaks no rule, unless another run has written in between.
            with self.reading() as connection:
                self.before_commit(connection)
            raise

    def writing_unasked(self) -> AbstractContextManager[Connection]:
        """A transaction whose statements tell by themselves whether they may be."""
        return self._engine.begin()
