"""Views that are computed anew in parts: refreshed between them, while sources change and processes die.

The oracle looks at every commit: a view is its query over the update of its source that it names, up to its freshness.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from faults.campaign import run
from faults.computer import SimulatedComputer
from faults.lives import Life
from faults.pieces import SmallPieces
from faults.refreshing import Refreshing
from faults.tables import BASES, declared, project
from faults.world import World

from freshtide.core.instants import micros
from freshtide.core.pieces import LONGEST_PIECE
from freshtide.core.steps import ComputedStep, Refresh
from freshtide.runs import Places, replay_trace
from freshtide.spark import SharedScans
from freshtide.storage import Prepared, UpdateKind
from tests.examples import slow_except
from tests.faults.rebuilding import (
    answered,
    backfill,
    begun,
    begun_steps,
    cancel,
    finish,
    land,
    land_all,
    records,
    refused,
    user_of,
    written_parts,
)

# By view the feed of its source.
_FED = {"large": "in_order", "per_minute": "with_late"}
_FILES = 24
_EVERY = 40.0
"""Seconds: minutes close on the way."""


def parts(world: World, view: str) -> int:
    return begun_steps(world, f"refresh of {view}")


def wait_for_parts(world: World, life: Life, view: str, *, more_than: int) -> None:
    since = world.turns.steady
    while parts(world, view) <= more_than:
        assert world.turns.steady - since < 600.0, "it does not go in so many parts"
        assert life.is_alive, life.fault
        world.go_on(0.1)


@pytest.mark.parametrize("view", _FED)
def test_a_view_is_rebuilt_in_parts_and_lands_in_one_commit(view: str) -> None:
    world, life = begun(11, files=_FILES, every=_EVERY)
    before, rows = parts(world, view), world.oracle.table(view).rows.copy()
    at = len(records(world, view))
    assert answered(world, life, backfill(world, life, view)).startswith(f"'{view}' has been rebuilt")
    assert parts(world, view) - before >= 4
    assert [record.kind for record in records(world, view)[at:]] == [UpdateKind.REBUILD]
    assert world.oracle.table(view).rows == rows
    finish(world, life)


@pytest.mark.parametrize("view", _FED)
def test_a_backfill_of_a_view_that_is_cancelled_leaves_it_as_it_was(view: str) -> None:
    world, life = begun(19, files=_FILES, every=_EVERY)
    superseded = set(written_parts(world, view))
    number, begun_before, at = backfill(world, life, view), parts(world, view), world.oracle.table(view).number
    wait_for_parts(world, life, view, more_than=begun_before + 2)
    assert set(written_parts(world, view)) > superseded
    told = answered(world, life, cancel(world, life, view))
    assert refused(world, life, number) == told
    world.go_on(30.0)
    assert world.oracle.table(view).number == at
    assert set(written_parts(world, view)) == superseded, "what was written is thrown away"
    land(world, _FED[view])
    finish(world, life)
    answered(world, life, backfill(world, life, view))
    finish(world, life)


def test_a_view_that_is_maintained_in_full_is_rebuilt_at_once() -> None:
    world, life = begun(12, files=_FILES, every=_EVERY)
    before = parts(world, "totals")
    answered(world, life, backfill(world, life, "totals"))
    assert parts(world, "totals") - before == 1
    finish(world, life)


@pytest.mark.parametrize("view", _FED)
def test_it_is_refreshed_between_its_parts_and_so_are_others(view: str) -> None:
    world, life = begun(13, files=_FILES, every=_EVERY)
    at = len(records(world, view))
    others = [name for name in project().graph if name != view]
    numbers = {name: world.oracle.table(name).number for name in others}
    number = backfill(world, life, view)
    updated_meanwhile = set()
    while not (request := user_of(life).requests.get(number)) or not request.done:
        land(world, *set(_FED.values()))
        world.go_on(2.0)
        updated_meanwhile |= {name for name in others if world.oracle.table(name).number > numbers[name]}
    kinds = [record.kind for record in records(world, view)][at:]
    assert UpdateKind.REFRESH in kinds[: kinds.index(UpdateKind.REBUILD)], "the view keeps fresh meanwhile"
    assert updated_meanwhile >= {"a", "b"}
    finish(world, life)
    assert replay_trace(Places(project()).trace, disk=world.disk.another_process()).difference is None


def test_no_update_of_a_view_takes_longer_than_others_can_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes half a second per row of its source, and a minute as a whole: when it is new, and when rebuilt.

    In files as small as these rows are no even share of the bytes: parts are twice as long as they should be at most.
    """
    world = World(20)
    world.temper.slowness = 0.01
    land_all(world, 60, every=_EVERY)
    # Of views and of what they read.
    for pieces in ("freshtide.runtime.pieces", "freshtide.core.pieces"):
        monkeypatch.setattr(f"{pieces}.FIRST_RATE", 60.0)
    prepared = SimulatedComputer.prepared
    took: list[float] = []

    @contextmanager
    def slowly(
        self: SimulatedComputer, step: ComputedStep, *, pool: str, scans: SharedScans | None = None
    ) -> Iterator[Prepared | None]:
        with prepared(self, step, pool=pool, scans=scans) as computed:
            if isinstance(step, Refresh) and step.table.name == "large":
                begins = world.oracle.table("large").freshness if step.span is None else step.span.after
                stamps = [row[1] for row in world.oracle.table("a").rows.elements()]
                took.append(0.5 * sum((begins or 0) < stamp <= micros(step.upto) for stamp in stamps))
                self._threads.sleep(took[-1])
            yield computed

    monkeypatch.setattr(SimulatedComputer, "prepared", slowly)
    life = world.begin_life()
    finish(world, life)
    assert sum(took) > 4 * LONGEST_PIECE
    assert max(took) <= 2 * LONGEST_PIECE
    took.clear()
    answered(world, life, backfill(world, life, "large"))
    assert sum(took) > 4 * LONGEST_PIECE
    assert max(took) <= 2 * LONGEST_PIECE
    finish(world, life)


def test_a_view_follows_the_rebuild_of_its_source_in_parts_and_stays_as_it_was_until_the_last() -> None:
    world, life = begun(14, files=_FILES, every=_EVERY)
    before, at = parts(world, "large"), len(records(world, "large"))
    message = answered(world, life, backfill(world, life, "a"))
    assert "'large'" in message
    assert parts(world, "large") - before >= 4
    (only,) = records(world, "large")[at:]
    assert only.sources == {"a": world.oracle.table("a").number}
    finish(world, life)


def land_older(world: World, feed: str, *, by: float) -> None:
    """Rows come that are older by so many seconds than those that came last."""
    world.turns.set_by -= by
    land(world, *(4 * [feed]))
    world.turns.set_by += by


def test_parts_of_a_view_do_not_count_once_its_source_has_been_revised_before_their_end() -> None:
    world, life = begun(15, files=_FILES, every=_EVERY)
    world.temper.slowness = 3.0
    at, before = len(records(world, "large")), parts(world, "large")
    number = backfill(world, life, "large")
    wait_for_parts(world, life, "large", more_than=before + 1)
    land_older(world, "in_order", by=(_FILES - 2) * _EVERY)
    while world.oracle.missing("a"):
        world.go_on(0.1)
    assert UpdateKind.REBUILD not in [record.kind for record in records(world, "large")[at:]]
    answered(world, life, number)
    finish(world, life)


def test_what_is_revised_while_the_last_part_begins_is_in_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    world, life = begun(15, files=_FILES, every=_EVERY)
    prepared = Refreshing.prepared
    revised: list[Refresh] = []

    def late(self: Refreshing, step: Refresh) -> Prepared:
        if step.span is not None and step.span.is_last and not revised:
            revised.append(step)
            land_older(world, "in_order", by=(_FILES - 2) * _EVERY)
            while world.oracle.missing("a"):
                self._work()
        return prepared(self, step)

    monkeypatch.setattr(Refreshing, "prepared", late)
    answered(world, life, backfill(world, life, "large"))
    assert revised
    finish(world, life)


def test_parts_of_a_view_count_where_its_source_is_revised_after_their_end() -> None:
    world, life = begun(15, files=_FILES, every=_EVERY)
    needed = parts(world, "large")
    answered(world, life, backfill(world, life, "large"))
    needed = parts(world, "large") - needed
    before = parts(world, "large")
    number = backfill(world, life, "large")
    wait_for_parts(world, life, "large", more_than=before + 3)
    land_older(world, "in_order", by=_EVERY)
    answered(world, life, number)
    finish(world, life)
    between = 3
    assert parts(world, "large") - before <= needed + between


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("view", _FED)
def test_who_dies_in_the_midst_leaves_the_view_as_it_was_and_the_next_begins_anew(view: str, power: bool) -> None:
    world, life = begun(16, files=_FILES, every=_EVERY)
    number, before, at = backfill(world, life, view), parts(world, view), world.oracle.table(view).number
    wait_for_parts(world, life, view, more_than=before + 2)
    if power:
        world.cut_power()
    else:
        life.die()
        world.lives = []
    assert world.oracle.table(view).number == at
    successor, before = world.begin_life(), parts(world, view)
    answered(world, successor, number)
    assert parts(world, view) - before >= 4
    finish(world, successor)


def test_what_was_swept_away_of_a_view_is_computed_again() -> None:
    world, life = begun(17, files=_FILES, every=_EVERY)
    number, before = backfill(world, life, "large"), parts(world, "large")
    wait_for_parts(world, life, "large", more_than=before + 2)
    folder, disk = Places(project()).tables / "large", world.disk.another_process()
    named = set(world.oracle.table("large").files)
    written = [name for name in disk.names(folder) if name.endswith(".parquet") and name not in named]
    assert written
    for name in written:
        disk.remove(folder / name)
    answered(world, life, number)
    assert not any(" failed: " in line for line in world.history.lines()), "it is noticed before it is committed"
    finish(world, life)


def test_what_one_rebuild_of_a_view_has_committed_no_other_commits_again() -> None:
    world, life = begun(18, files=_FILES, every=_EVERY)
    held = []
    for _ in range(2):
        answered(world, life, backfill(world, life, "large"))
        held.append(set(world.oracle.table("large").files))
    assert held[0]
    assert not held[0] & held[1]
    finish(world, life)


@pytest.mark.parametrize("view", _FED)
def test_a_new_view_over_a_long_history_comes_forward_piece_by_piece(view: str) -> None:
    world = World(19)
    world.pieces = SmallPieces
    world.declared = declared(without=frozenset({view}))
    land_all(world, _FILES, every=_EVERY)
    life = world.begin_life()
    world.go_on(180.0)
    assert not any(map(world.oracle.missing, BASES))
    assert not world.oracle.table(view).number
    life.die()
    world.lives, world.declared = [], project()
    finish(world, world.begin_life())
    fresh = [record.freshness or 0 for record in records(world, view)]
    assert len(fresh) >= 2
    assert fresh == sorted(set(fresh))


@pytest.mark.parametrize("seed", slow_except(range(24), 0, 1, 2, 3, 4, 5))
def test_whatever_happens_every_version_of_every_view_is_its_query(seed: int) -> None:
    run(300_000 + seed, "backfills")
