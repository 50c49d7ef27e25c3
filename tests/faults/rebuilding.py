"""Worlds in which tables are rebuilt in small parts: how they begin, and what is asked of them."""

from __future__ import annotations

from faults.lives import Life, open_tables
from faults.pieces import SmallPieces
from faults.tables import FEEDS, project
from faults.turns import Process
from faults.world import World

from freshtide.catalog import Catalog, Request, RequestKind
from freshtide.runs import Places
from freshtide.storage import FAN_IN, UpdateRecord

_PATIENCE = 600.0


def user_of(life: Life) -> Catalog:
    return life.books.catalog(Process("a user"))


def land(world: World, *feeds: str) -> None:
    for feed in feeds:
        world.producer.land(world.disk.another_process(), feed)


def begun(seed: int, files: int = 12, *, every: float = 0.0) -> tuple[World, Life]:
    """A world in which so many files of each feed are loaded, which have landed every so many seconds."""
    world = World(seed)
    world.pieces = SmallPieces
    world.fan_in = FAN_IN  # No file is left behind by being merged: what no log names is a part.
    land_all(world, files, every=every)
    life = world.begin_life()
    finish(world, life)
    return world, life


def land_all(world: World, files: int, *, every: float) -> None:
    """Let so many files of each feed land before anybody looks; their rows are as far apart in time as they are."""
    for _ in range(files):
        land(world, *FEEDS)
        world.turns.set_by += every


def finish(world: World, life: Life) -> None:
    since = world.turns.steady
    while (waits_for := world.oracle.waits_for(life.books.loads())) is not None:
        assert world.turns.steady - since < _PATIENCE, waits_for
        assert life.is_alive, life.fault
        world.go_on(1.0)


def backfill(world: World, life: Life, table: str) -> int:
    return user_of(life).requests.add(RequestKind.BACKFILL, table, at=world.turns.now)


def cancel(world: World, life: Life, table: str) -> int:
    return user_of(life).requests.add(RequestKind.CANCEL, table, at=world.turns.now)


def answered(world: World, life: Life, number: int) -> str:
    request = _done(world, life, number)
    assert request.succeeded, request.message
    return request.message or ""


def refused(world: World, life: Life, number: int) -> str:
    """What is said to a request that could not be done."""
    request = _done(world, life, number)
    assert not request.succeeded
    return request.message or ""


def _done(world: World, life: Life, number: int) -> Request:
    since = world.turns.steady
    while not (request := user_of(life).requests.get(number)) or not request.done:
        assert world.turns.steady - since < _PATIENCE, "nobody answers"
        assert life.is_alive, life.fault
        world.go_on(1.0)
    return request


def written_parts(world: World, table: str) -> list[str]:
    """Files of a table that no log names."""
    folder, disk = Places(project()).tables / table, world.disk.another_process()
    named = set(world.oracle.table(table).files)
    return [name for name in disk.names(folder) if name.endswith(".parquet") and name not in named]


def begun_steps(world: World, step: str) -> int:
    """How many steps were begun, parts of rebuilds among them: `load of a`, `refresh of large`."""
    return sum("begins" in line and line.endswith(step) for line in world.history.lines())


def records(world: World, table: str) -> list[UpdateRecord]:
    tables = open_tables(world.disk.another_process(), lambda: 0.0)
    return [record for _, record in tables.table(table).records()]
