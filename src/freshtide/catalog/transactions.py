"""Several writes as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine


@contextmanager
def transaction(engine: Engine, joined: Connection | None = None) -> Iterator[Connection]:
    """The transaction that is being joined, or one of its own."""
    if joined is not None:
        yield joined
        return
    with engine.begin() as connection:
        yield connection
