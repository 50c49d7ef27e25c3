"""The catalog that tests run on: SQLite, or the database that FRESHTIDE_TEST_CATALOG names (it is emptied!)."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from freshtide.catalog.schema import metadata


def _of_this_worker(server: str | None) -> str | None:
    """Tests that run beside each other, on workers of their own, have a database each."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if server is None or worker is None:
        return server
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if not connection.scalar(text("SELECT count(*) FROM pg_database WHERE datname = :name"), {"name": worker}):
            connection.execute(text(f"CREATE DATABASE {worker}"))
    engine.dispose()
    return make_url(server).set(database=worker).render_as_string(hide_password=False)


GIVEN = _of_this_worker(os.environ.get("FRESHTIDE_TEST_CATALOG"))


def empty_catalog(state: Path) -> str:
    """The URL of a catalog without anything in it, for a warehouse whose state is in a folder."""
    if GIVEN is None:
        for leftover in state.glob("catalog.db*"):
            leftover.unlink()
        return f"sqlite:///{state / 'catalog.db'}"
    engine = create_engine(GIVEN)
    metadata.drop_all(engine)
    engine.dispose()
    return GIVEN


def use_catalog(project: Path) -> None:
    """Let a project folder that has never run use the catalog of the tests."""
    with (project / "freshtide.yml").open("a") as settings:
        settings.write(f"\ncatalog: {empty_catalog(project / '.freshtide')}\n")
