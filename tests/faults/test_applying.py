"""The project changes again and again while a warehouse runs, through faults, deaths and power cuts.

The oracle knows what each table must hold, whenever it was there: nothing is lost or loaded twice, and in the end, when
all tables are back, all that ever landed is in all of them.
"""

from __future__ import annotations

from random import Random

import pytest
from faults.campaign import Play
from faults.lives import Life
from faults.tables import FEEDS, declared, project
from faults.trouble import drawn, set_temper
from faults.turns import Process
from faults.world import World

from freshtide.catalog import Catalog, RequestKind
from freshtide.project import Project, digest_of
from freshtide.runs import Places, replay_trace

_PATIENCE = 600.0


def edited(rng: Random) -> Project:
    """Somebody has taken tables out or put them back, a base table with its feed and what is computed from it."""
    without = {view for view in ("large", "totals", "per_minute") if rng.random() < 0.4}
    if rng.random() < 0.3:
        without |= {"b", "per_minute", rng.choice(("with_late", "per_minute"))}
    if rng.random() < 0.2:
        without |= {"a", "in_order", "large", "totals"}
    return declared(without=frozenset(without), tracks=rng.randint(1, 4))


def user_of(life: Life) -> Catalog:
    return life.books.catalog(Process("a user"))


def apply(world: World, life: Life) -> int:
    return user_of(life).requests.add(RequestKind.APPLY, digest_of(world.declared), at=world.turns.now)


def insist(world: World, life: Life) -> None:
    """Apply until it has taken effect: a table may have to end its last update first."""
    begun = world.turns.steady
    while True:
        number = apply(world, life)
        while not (request := user_of(life).requests.get(number)) or not request.done:
            assert world.turns.steady - begun < _PATIENCE, "nobody answers"
            assert life.is_alive, life.fault
            world.go_on(1.0)
        if request.succeeded:
            return
        world.go_on(1.0)


def test_tables_feeds_and_tracks_come_and_go_while_it_runs() -> None:
    world = World(7)
    # The feed of 'b' is there, and what it brings is registered, before anybody loads it.
    world.declared = declared(without=frozenset({"b", "per_minute", "totals"}), tracks=1)
    for feed in 4 * list(FEEDS):
        world.producer.land(world.disk.another_process(), feed)
    life = world.begin_life()
    world.go_on(60.0)
    assert world.oracle.table("a").number > 0
    assert world.oracle.table("b").number == world.oracle.table("totals").number == 0
    world.declared = project()
    insist(world, life)
    # What had landed before they were there is loaded too.
    world.go_on(60.0)
    assert world.oracle.waits_for(life.books.loads()) is None
    world.declared = declared(without=frozenset({"a", "in_order", "large", "totals"}), tracks=3)
    insist(world, life)
    before = world.oracle.table("a").number
    for feed in 4 * list(FEEDS):
        world.producer.land(world.disk.another_process(), feed)
    world.go_on(60.0)
    assert world.oracle.table("a").number == before
    world.declared = project()
    insist(world, life)
    world.go_on(120.0)
    assert world.oracle.waits_for(life.books.loads()) is None
    assert life.fault is None
    assert replay_trace(Places(project()).trace, disk=world.disk.another_process()).difference is None


def test_a_change_that_is_not_what_somebody_has_seen_is_refused_and_changes_nothing() -> None:
    world = World(8)
    life = world.begin_life()
    world.go_on(30.0)
    seen = digest_of(declared(tracks=3))
    world.declared = declared(tracks=4)
    number = user_of(life).requests.add(RequestKind.APPLY, seen, at=world.turns.now)
    world.go_on(30.0)
    request = user_of(life).requests.get(number)
    assert request is not None
    assert (request.done, request.succeeded) == (True, False)
    assert "not what they were when the changes were shown" in (request.message or "")
    trace = world.disk.another_process().read(Places(project()).trace)
    assert b'"changes"' not in trace


@pytest.mark.parametrize("seed", [0, 2, 4, 5, 6, 7])
def test_whatever_happens_meanwhile_nothing_is_lost_and_nothing_is_loaded_twice(seed: int) -> None:
    world = World(seed)
    rng = Random(world.rng.random())
    set_temper(world, rng)
    going_on = Play(world, drawn(rng, None), rng)
    while going_on.is_wanted:
        going_on.step()
        if rng.random() < 0.3:
            world.declared = edited(rng)
            for life in world.lives[:1]:
                apply(world, life)
    world.declared = project()
    world.temper.soothe()
    for life in world.lives:
        life.die()
    world.lives = []
    insist(world, world.begin_life())
    going_on.end_well()
    assert any("Changed:" in line for line in world.history.lines()), "no change took effect while it ran"
