"""Two projects with catalogs of their own that run on one storage, one after the other."""

from __future__ import annotations

import errno

import pytest
from faults.disk import Fault
from faults.tables import BASES
from faults.turns import Process
from faults.world import World

from freshtide.core.arrivals import ArrivalState
from tests.faults.rebuilding import finish, land


@pytest.mark.parametrize("table", BASES)
def test_a_file_that_one_could_not_read_and_another_has_loaded_is_loaded_for_both(table: str) -> None:
    world, feed = World(3), BASES[table].feed
    land(world, feed)
    life = world.begin_life()
    life.disk.faults.append(Fault(error=errno.EACCES, calls=frozenset({"open"}), below=f"/landing/{feed}"))
    world.go_on(30.0)
    own = world.books[0].catalog(Process("a user")).arrivals
    assert [file.digest for file in own.in_state(ArrivalState.QUARANTINED)] == [""], "nobody knows what it holds"
    life.die()
    world.bury()
    other = world.begin_life(machine=1, books=1)
    finish(world, other)
    other.die()
    world.bury()
    land(world, feed)
    finish(world, world.begin_life(books=0))
    assert own.in_state(ArrivalState.QUARANTINED) == []
    assert own.outdated_tables() == set()
    assert "rebuild" not in "\n".join(world.history.lines()), "there was nothing to compute anew"
    world.end()
