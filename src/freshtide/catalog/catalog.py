"""The way into the catalog."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, ExceptionContext, create_engine, event, false, update
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from freshtide import crashpoints
from freshtide.catalog.arrivals import ArrivalLedger
from freshtide.catalog.database import Database
from freshtide.catalog.faults import FeedFaults
from freshtide.catalog.groups import GroupCosts
from freshtide.catalog.latest import LatestStreams
from freshtide.catalog.leases.database import CatalogSeat
from freshtide.catalog.outages import OutageLog
from freshtide.catalog.pruning import prune
from freshtide.catalog.requests import RequestQueue
from freshtide.catalog.schema import requests
from freshtide.catalog.tables import TableRow, TableStates
from freshtide.catalog.updates import UpdateLog
from freshtide.catalog.upgrades import bring_up_to_date
from freshtide.catalog.urls import parse_url, with_patience
from freshtide.core.arrivals import Arrival
from freshtide.core.errors import FreshtideError, SurroundingsError

# How long processes that use the same SQLite file wait for each other.
_PATIENCE = 30.0
_LOOK_AGAIN = 0.01
# It needs the right to write, and changes nothing.
_WRITE_NOTHING = update(requests).where(false()).values(done=True)


class CatalogError(SurroundingsError):
    """A catalog that cannot be opened or has gone away."""

    def __init__(self, url: URL, reason: object) -> None:
        # What a driver says goes on over several lines with hints for programmers.
        reason = getattr(reason, "orig", None) or reason
        first = (str(reason).strip().splitlines() or [type(reason).__name__])[0]
        where = "database" if url.get_backend_name() == "sqlite" else "server"
        super().__init__(
            f"The catalog at {url.render_as_string(hide_password=True)} does not answer: {first}",
            way_out=f"Check the {where} and `catalog` in freshtide.yml. Nothing is lost: a run goes on with it.",
        )


class BrokenCatalogError(FreshtideError):
    """A SQLite file that cannot be read any more. Waiting does not mend it; the tables know all that counts."""

    def __init__(self, url: URL, reason: object) -> None:
        super().__init__(
            f"The catalog in {url.database} is broken: {reason}.",
            way_out=f"Move it away: `mv {url.database} {url.database}.broken`. The next run makes a new one from the "
            "tables' logs and the feeds' folders, and loads nothing twice. Pauses, learnt costs, and the history of "
            "updates and outages cannot be found there: pause again what was paused.",
        )


class MissingDriverError(FreshtideError):
    """The Python package that speaks with the database is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"The catalog's driver, the Python package '{package}', is not installed.",
            way_out="Run `pip install 'freshtide[postgresql]'`, and let `catalog` begin with postgresql+psycopg://.",
        )


class Catalog:
    """One database, one object per thing remembered in it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._database = database = Database(engine)
        self.seat = CatalogSeat(database)
        self.arrivals = ArrivalLedger(database)
        self.faults = FeedFaults(database)
        self.outages = OutageLog(database)
        self.tables = TableStates(database)
        self.groups = GroupCosts(database)
        self.streams = LatestStreams(database)
        self.updates = UpdateLog(database)
        self.requests = RequestQueue(database)

    @classmethod
    def open(cls, url: str) -> Catalog:
        """Open the catalog, creating it where there is none."""
        parsed = parse_url(url)
        try:
            engine = _engine(parsed)
            bring_up_to_date(engine)
        except ImportError as error:
            raise MissingDriverError(error.name or str(error)) from error
        except (SQLAlchemyError, OSError) as error:
            raise _explained(parsed, error) from error
        return cls(engine)

    @classmethod
    def peek(cls, url: str) -> Catalog:
        """Open the catalog to read from it; where its file does not exist it is empty, and stays so."""
        parsed = parse_url(url)
        missing = parsed.get_backend_name() == "sqlite" and parsed.database and not Path(parsed.database).exists()
        return cls.open("sqlite://" if missing else url)

    def book_update(self, row: TableRow, update_id: int, *, files: Iterable[Arrival], rows: int, at: float) -> None:
        """Write down a committed update: the table's progress, the files it loaded and the update itself, at once."""
        contents = {file.id: file.digest for file in files}
        with self._database.writing() as connection:
            self.arrivals.mark_loaded(row.name, contents, row.number, contents=contents, within=connection)
            self.tables.advance(row, within=connection)
            crashpoints.reach("booking")
            self.updates.finish(update_id, at=at, freshness=row.freshness, rows=rows, within=connection)
            crashpoints.reach("booking")

    def prune(self, now: float) -> None:
        """Forget what is old, so that the catalog does not grow with every update."""
        prune(self._database, now)

    def require_answer(self) -> None:
        """Raise a CatalogError unless the database takes what is written."""
        with self._database.writing() as connection:
            connection.execute(_WRITE_NOTHING)

    def last_sign_of_life(self) -> float | None:
        """When a run last wrote something down, as far as can be told."""
        signs = (self.arrivals.last_arrival(), self.updates.last_moment())
        return max((sign for sign in signs if sign is not None), default=None)

    def close(self) -> None:
        self._engine.dispose()


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        if url.database:
            _make_private(Path(url.database))
        # Looking processes and the run share the file: wait for each other rather than fail.
        engine = create_engine(url, connect_args={"timeout": _PATIENCE})
        event.listen(engine, "connect", _prepare_sqlite)
    else:
        engine = create_engine(with_patience(url), pool_pre_ping=True)
        event.listen(engine, "connect", _prepare_server)

    @event.listens_for(engine, "handle_error")
    def _explain(context: ExceptionContext) -> BaseException | None:
        """Whoever was using the catalog when it went away hears so in words."""
        is_away = context.is_disconnect or isinstance(context.sqlalchemy_exception, OperationalError | InterfaceError)
        if is_away or _is_broken(context.original_exception):
            return _explained(url, context.original_exception)
        return None

    return engine


def _make_private(file: Path) -> None:
    """A file that only its owner can read, like what SQLite puts beside it: it quotes what arrives."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not file.exists():
        file.touch(mode=0o600)


def _explained(url: URL, error: BaseException) -> FreshtideError:
    reason = getattr(error, "orig", None) or error
    return BrokenCatalogError(url, reason) if _is_broken(reason) else CatalogError(url, error)


def _is_broken(error: object) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    # The lowest byte is the kind, the others tell which page or index.
    return code is not None and code & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute(f"PRAGMA busy_timeout={int(_PATIENCE * 1_000)}")
    _write_ahead(connection)
    # FULL: what the catalog says after a commit must survive a power cut, like the Delta log before it.
    connection.execute("PRAGMA synchronous=FULL")


def _prepare_server(connection: Any, _record: object) -> None:
    """Let the server end transactions of processes that are gone or sleep: nobody can take the lease over before."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout TO {int(_PATIENCE * 1_000)}")
    connection.commit()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and a writer not wait for each other. The change itself does not wait for anybody, it fails."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_LOOK_AGAIN)
