"""Statements without SQLAlchemy's engine: a world is the same with it and without it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.campaign import Story, run
from faults.plainsql import PlainEngine
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import StaticPool

from faults import books
from freshtide.catalog import Catalog, RequestKind, TableRow
from freshtide.catalog.schema import leases
from freshtide.catalog.upgrades import bring_up_to_date
from freshtide.core.arrivals import Arrival, ArrivalState


def a_file(path: str) -> Arrival:
    return Arrival(
        feed="f",
        position=path,
        digest=path,
        size=1,
        modified_ns=2,
        arrived_at=3.0,
        state=ArrivalState.READY,
        columns=("x", "y"),
    )


def real_engine(database: sqlite3.Connection) -> Engine:
    return create_engine("sqlite://", creator=lambda: database, poolclass=StaticPool)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "catalog.db")
    bring_up_to_date(real_engine(connection))
    yield connection
    connection.close()


@pytest.fixture
def plain(database: sqlite3.Connection) -> Catalog:
    engine: Any = PlainEngine(database)
    return Catalog(engine)


@pytest.fixture
def real(database: sqlite3.Connection) -> Catalog:
    return Catalog(real_engine(database))


@pytest.mark.parametrize("seed", [1, 5, 10])
def test_a_world_is_the_same_with_the_engine_of_sqlalchemy(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Story] = [run(seed)]
    asked = 0

    def count(*_statement: object) -> None:
        nonlocal asked
        asked += 1

    dialect = real_engine(sqlite3.connect(":memory:")).dialect

    def with_engine(line: Any) -> Engine:
        engine = Engine(StaticPool(lambda: line), dialect, make_url("sqlite://"))
        event.listen(engine, "before_cursor_execute", count)
        return engine

    monkeypatch.setattr(books, "PlainEngine", with_engine)
    told.append(run(seed))
    assert asked > 100
    assert told[0] == told[1]


def test_what_one_writes_the_other_reads(plain: Catalog, real: Catalog) -> None:
    for catalog, other, name in ((plain, real, "a"), (real, plain, "b")):
        catalog.tables.put(TableRow(name=name, counts={"read": 3}, freshness=1.5, reason="torn \0 and \ud800"))
        registered = catalog.arrivals.register_all([(a_file(f"{name}{place}"), (name,)) for place in range(3)])
        catalog.arrivals.mark_loaded(name, [file.id for file in registered[:2]], 7)
        request = catalog.requests.add(RequestKind.PAUSE, name, at=1.0)
        assert other.tables.get(name) == catalog.tables.get(name)
        assert other.tables.get(name).reason == "torn \\0 and \\ud800"
        assert other.arrivals.loaded(name) == catalog.arrivals.loaded(name) == registered[:2]
        assert other.arrivals.pending_first(name, upto=9.0, most=5) == registered[2:]
        assert other.requests.get(request) == catalog.requests.get(request)


def test_what_breaks_a_rule_of_the_database_is_refused(plain: Catalog, database: sqlite3.Connection) -> None:
    lease = {"id": 1, "nonce": "n", "holder": {}, "beat": 0, "released": False}
    engine = PlainEngine(database)
    with engine.begin() as connection:
        connection.execute(leases.insert(), lease)
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(leases.insert(), lease)
    assert plain.tables.all() == {}


def test_a_transaction_that_fails_leaves_nothing(plain: Catalog, real: Catalog) -> None:
    def refuse(_connection: object) -> None:
        raise RuntimeError("no")

    plain._database.before_commit = refuse
    with pytest.raises(RuntimeError, match="no"):
        plain.tables.put(TableRow(name="a"))
    assert real.tables.all() == {}
