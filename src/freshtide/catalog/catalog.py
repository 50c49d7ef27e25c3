"""The way into the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from freshtide.catalog.files import FileLedger
from freshtide.catalog.requests import RequestQueue
from freshtide.catalog.schema import metadata
from freshtide.catalog.tables import TableRow, TableStates
from freshtide.catalog.updates import UpdateLog
from freshtide.core.errors import FreshtideError


class CatalogError(FreshtideError):
    """A catalog that cannot be opened."""


class Catalog:
    """One database, one object per thing remembered in it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.files = FileLedger(engine)
        self.tables = TableStates(engine)
        self.updates = UpdateLog(engine)
        self.requests = RequestQueue(engine)

    @classmethod
    def open(cls, url: str) -> Catalog:
        """Open the catalog, creating it where there is none."""
        try:
            parsed = make_url(url)
            if parsed.get_backend_name() == "sqlite":
                if parsed.database:
                    Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
                # Looking processes and the run share the file: wait for each other rather than fail.
                engine = create_engine(parsed, connect_args={"timeout": 30})
                event.listen(engine, "connect", _prepare_sqlite)
            else:
                engine = create_engine(parsed, pool_pre_ping=True)
            metadata.create_all(engine)
        except (SQLAlchemyError, OSError, ImportError) as error:
            raise CatalogError(
                f"The catalog cannot be opened: {error}",
                way_out="Check `catalog` in freshtide.yml; without it a SQLite file in .freshtide/ is used.",
            ) from error
        return cls(engine)

    def book_update(self, row: TableRow, update_id: int, *, file_ids: Iterable[int], rows: int, at: float) -> None:
        """Write down a committed update: the table's progress, the files it loaded and the update itself, at once."""
        with self._engine.begin() as connection:
            self.files.mark_loaded(row.name, file_ids, row.number, within=connection)
            self.tables.advance(row, within=connection)
            self.updates.finish(update_id, at=at, freshness=row.freshness, rows=rows, within=connection)

    def close(self) -> None:
        self._engine.dispose()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # FULL: what the catalog says after a commit must survive a power cut, like the Delta log before it.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")
