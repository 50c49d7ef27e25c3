"""Rebuilds in parts: files are loaded between them, processes die in the midst, and every version is consistent.

The oracle looks at every commit: the files that a base table names have each row once, whatever they were rebuilt from.
"""

from __future__ import annotations

from random import Random

import pytest
from faults.campaign import Play
from faults.pieces import SmallPieces
from faults.tables import BASES, FEEDS, VIEWS, project
from faults.trouble import drawn, set_temper
from faults.world import World

from freshtide.catalog import RebuildProgress, RequestKind
from freshtide.core.arrivals import ArrivalState
from freshtide.core.loads import in_order
from freshtide.runs import Places, replay_trace
from freshtide.runtime.rebuilds import DroppedRebuildError, Rebuilds
from freshtide.storage import UpdateKind
from tests.examples import slow_except
from tests.faults.rebuilding import (
    answered,
    backfill,
    begun,
    begun_steps,
    cancel,
    finish,
    land,
    records,
    refused,
    user_of,
    written_parts,
)


@pytest.mark.parametrize("table", ["a", "b"])
def test_a_rebuild_goes_in_parts_and_lands_in_one_commit(table: str) -> None:
    world, life = begun(1)
    before, rows = begun_steps(world, f"load of {table}"), world.oracle.table(table).rows.copy()
    message = answered(world, life, backfill(world, life, table))
    assert message.startswith(f"'{table}' has been rebuilt")
    assert begun_steps(world, f"load of {table}") - before == 4, "twelve files, three at a time"
    rebuilt = records(world, table)[-1]
    assert rebuilt.kind is UpdateKind.REBUILD
    assert len(rebuilt.arrivals) == 12
    assert [record.kind for record in records(world, table)].count(UpdateKind.REBUILD) == 1
    assert rebuilt.counts.read == rebuilt.counts.loaded + rebuilt.counts.rejected + rebuilt.counts.late + (
        rebuilt.counts.filtered
    )
    if table == "a":
        assert world.oracle.table(table).rows == rows
    finish(world, life)


def test_a_table_that_a_flow_loads_is_rebuilt_at_once() -> None:
    world, life = begun(2)
    before = begun_steps(world, "load of c")
    answered(world, life, backfill(world, life, "c"))
    assert begun_steps(world, "load of c") - before == 1
    finish(world, life)


def test_who_looks_on_sees_which_part_of_a_rebuild_runs_and_how_many_files_are_done() -> None:
    world, life = begun(14)
    number = backfill(world, life, "a")
    seen: list[RebuildProgress | None] = []
    while not (request := user_of(life).requests.get(number)) or not request.done:
        running = [update.progress for update in user_of(life).updates.running() if update.table == "a"]
        seen += [progress for progress in running if progress not in (None, *seen)]
        world.go_on(0.02)
    assert seen == [RebuildProgress(part=part, done=3 * (part - 1), whole=12, unit="files") for part in range(1, 5)]
    finish(world, life)


def test_files_that_land_meanwhile_are_loaded_between_the_parts_and_are_in_the_rebuild() -> None:
    world, life = begun(3)
    number = backfill(world, life, "a")
    before = len(records(world, "a"))
    for _ in range(8):
        land(world, "in_order")
        world.go_on(2.0)
    answered(world, life, number)
    since = [record.kind for record in records(world, "a")][before:]
    assert UpdateKind.LOAD in since[: since.index(UpdateKind.REBUILD)], "the table keeps fresh meanwhile"
    finish(world, life)
    assert len(world.oracle.table("a").arrivals) == 20


def test_content_that_is_accepted_in_the_midst_is_what_the_rebuild_has() -> None:
    world, life = begun(4)
    world.temper.slowness = 5.0
    number, before = backfill(world, life, "a"), begun_steps(world, "load of a")
    while begun_steps(world, "load of a") < before + 2:
        world.go_on(0.5)
    file = world.producer.by_path[in_order(user_of(life).arrivals.loaded("a"))[0].position]
    old = file.now
    world.producer._put(world.disk.another_process(), file)
    while not user_of(life).arrivals.in_state(ArrivalState.REFUSED):
        world.go_on(1.0)
    assert begun_steps(world, "load of a") < before + 4, "it is in a part that has been written"
    accepted = user_of(life).requests.add(RequestKind.ACCEPT, file.path, at=world.turns.now)
    answered(world, life, accepted)
    answered(world, life, number)
    assert world.oracle.table("a").arrivals[file.path] == file.now != old
    assert [record.kind for record in records(world, "a")].count(UpdateKind.REBUILD) == 1
    finish(world, life)


@pytest.mark.parametrize("power", [False, True])
def test_who_dies_in_the_midst_of_a_rebuild_leaves_the_table_as_it_was_and_the_next_begins_anew(power: bool) -> None:
    world, life = begun(5)
    number = backfill(world, life, "b")
    before, at = begun_steps(world, "load of b"), world.oracle.table("b").number
    while begun_steps(world, "load of b") < before + 3:
        world.go_on(0.1)
    if power:
        world.cut_power()
    else:
        life.die()
        world.lives = []
    assert world.oracle.table("b").number == at
    successor = world.begin_life()
    answered(world, successor, number)
    assert begun_steps(world, "load of b") >= before + 3 + 4
    finish(world, successor)


def test_what_was_swept_away_of_a_rebuild_is_computed_again() -> None:
    world, life = begun(6)
    number = backfill(world, life, "a")
    before = begun_steps(world, "load of a")
    while begun_steps(world, "load of a") < before + 3:
        world.go_on(0.1)
    written = written_parts(world, "a")
    assert written
    for name in written:
        world.disk.another_process().remove(Places(project()).tables / "a" / name)
    answered(world, life, number)
    assert begun_steps(world, "load of a") - before > 4
    finish(world, life)


def test_what_one_rebuild_has_committed_no_other_commits_again() -> None:
    world, life = begun(7)
    held = []
    for _ in range(2):
        answered(world, life, backfill(world, life, "a"))
        held.append(set(world.oracle.table("a").files))
    assert held[0]
    assert not held[0] & held[1]
    finish(world, life)


@pytest.mark.parametrize("changes", [False, True])
def test_a_wish_is_given_up_for_a_file_that_goes_or_changes_in_the_midst_and_the_table_goes_on(changes: bool) -> None:
    world, life = begun(8)
    number, before = backfill(world, life, "a"), begun_steps(world, "load of a")
    while begun_steps(world, "load of a") < before + 2:
        world.go_on(0.1)
    file = world.producer.by_path[in_order(user_of(life).arrivals.loaded("a"))[-1].position]
    if changes:
        world.producer._put(world.disk.another_process(), file)
    else:
        world.disk.another_process().remove(file.path)
    told = refused(world, life, number)
    assert told.startswith("'a' was not rebuilt, and is updated as ever without: 'a' cannot be rebuilt: 1 of its files")
    assert f"The first is {file.path}, which {'has changed' if changes else 'is away'}." in told
    assert told.endswith("Mend that, and run `freshtide backfill a` again.")
    world.go_on(1.0)
    assert not written_parts(world, "a"), "what was written is thrown away"
    assert user_of(life).tables.get("a").status == "active"
    assert UpdateKind.REBUILD not in {record.kind for record in records(world, "a")}
    begun_loads, files = begun_steps(world, "load of a"), len(world.oracle.table("a").arrivals)
    land(world, "in_order")
    world.go_on(30.0)
    assert len(world.oracle.table("a").arrivals) == files + 1
    life.die()
    world.lives = []
    successor = world.begin_life()
    world.go_on(30.0)
    assert begun_steps(world, "load of a") == begun_loads + 1, "nobody takes it up again"
    assert successor.is_alive


def test_a_backfill_that_is_cancelled_leaves_the_table_as_it_was_and_its_parts_are_gone() -> None:
    world, life = begun(9)
    number, before, at = backfill(world, life, "a"), begun_steps(world, "load of a"), world.oracle.table("a").number
    while begun_steps(world, "load of a") < before + 3:
        world.go_on(0.1)
    assert written_parts(world, "a")
    told = answered(world, life, cancel(world, life, "a"))
    assert told == "The backfill of 'a' is cancelled: the table stays as it is, and is updated as ever."
    assert refused(world, life, number) == told
    world.go_on(30.0)
    assert world.oracle.table("a").number == at
    assert begun_steps(world, "load of a") <= before + 4, "no other part is begun"
    assert not written_parts(world, "a")
    land(world, "in_order")
    finish(world, life)
    answered(world, life, backfill(world, life, "a"))
    finish(world, life)
    trace = replay_trace(Places(project()).trace, disk=world.disk.another_process())
    assert trace.difference is None


def test_a_backfill_can_be_cancelled_while_its_last_part_is_computed() -> None:
    world, life = begun(13)
    number, before, at = backfill(world, life, "a"), begun_steps(world, "load of a"), world.oracle.table("a").number
    while begun_steps(world, "load of a") < before + 4:
        world.go_on(0.02)
    world.temper.slowness = 5.0
    assert len(written_parts(world, "a")) == 3, "all but the last are there"
    told = answered(world, life, cancel(world, life, "a"))
    assert refused(world, life, number) == told
    world.go_on(60.0)
    assert world.oracle.table("a").number == at
    assert user_of(life).tables.get("a").status == "active"
    assert user_of(life).updates.running() == []
    finish(world, life)


def test_what_is_being_committed_is_dropped_no_more() -> None:
    rebuilds = Rebuilds()
    rebuilds.begin(["a"])
    rebuilds.land("a")
    assert rebuilds.drop("a") is None
    rebuilds.ended(["a"])
    assert rebuilds.drop("a") is not None
    with pytest.raises(DroppedRebuildError):
        rebuilds.land("a")
    rebuilds.begin(["a"])
    rebuilds.land("a")


@pytest.mark.parametrize("seed", range(6))
def test_whenever_a_backfill_is_cancelled_it_is_told_truly_whether_that_was_in_time(seed: int) -> None:
    world, life = begun(20 + seed)
    number, at = backfill(world, life, "a"), world.oracle.table("a").number
    world.go_on(Random(seed).uniform(0.0, 8.0))
    asked = cancel(world, life, "a")
    world.go_on(60.0)
    cancelling, asking = (user_of(life).requests.get(each) for each in (asked, number))
    assert cancelling is not None
    assert asking is not None
    assert (cancelling.done, asking.done) == (True, True)
    assert cancelling.succeeded == (not asking.succeeded)
    assert (world.oracle.table("a").number == at) == cancelling.succeeded
    finish(world, life)


def test_cancelling_a_backfill_that_nobody_asked_for_says_so() -> None:
    world, life = begun(10)
    told = refused(world, life, cancel(world, life, "b"))
    assert told.startswith("No backfill of 'b' is asked for, so there is none to cancel.")
    finish(world, life)


def test_a_backfill_that_accepted_content_needs_as_well_goes_on_when_it_is_cancelled() -> None:
    world, life = begun(11)
    world.temper.slowness = 5.0
    number, before = backfill(world, life, "a"), begun_steps(world, "load of a")
    while begun_steps(world, "load of a") < before + 2:
        world.go_on(0.5)
    file = world.producer.by_path[in_order(user_of(life).arrivals.loaded("a"))[0].position]
    world.producer._put(world.disk.another_process(), file)
    while not user_of(life).arrivals.in_state(ArrivalState.REFUSED):
        world.go_on(1.0)
    accepted = user_of(life).requests.add(RequestKind.ACCEPT, file.path, at=world.turns.now)
    assert "more than the backfill needs it" in refused(world, life, cancel(world, life, "a"))
    answered(world, life, accepted)
    answered(world, life, number)
    finish(world, life)


def test_nothing_is_loaded_between_the_parts_of_a_rebuild_that_loads_have_to_wait_for() -> None:
    world, life = begun(12)
    life.die()
    world.lives = []
    before = len(records(world, "a"))
    world.outgrown = {"a": "Column 'v' of 'a' is int64 in the table and string now."}
    world.temper.slowness = 2.0
    life = world.begin_life()
    for _ in range(8):
        land(world, "in_order")
        world.go_on(2.0)
    finish(world, life)
    since = [record.kind for record in records(world, "a")][before:]
    assert since[0] is UpdateKind.REBUILD, "it has twelve files, in four parts"
    assert UpdateKind.LOAD in since
    assert len(world.oracle.table("a").arrivals) == 20


@pytest.mark.parametrize("seed", slow_except(range(12), 0, 1, 2, 3))
def test_whatever_happens_in_the_midst_of_rebuilds_nothing_is_lost_and_nothing_is_there_twice(seed: int) -> None:
    world = World(seed)
    world.pieces = SmallPieces
    rng = Random(world.rng.random())
    set_temper(world, rng)
    going_on = Play(world, drawn(rng, None), rng)
    land(world, *(6 * list(FEEDS)))
    while going_on.is_wanted:
        going_on.step()
        if rng.random() < 0.2:
            for life in world.lives[:1]:
                backfill(world, life, rng.choice((*BASES, *VIEWS)))
        if rng.random() < 0.1:
            for life in world.lives[:1]:
                cancel(world, life, rng.choice((*BASES, *VIEWS)))
    going_on.end_well()
