"""The clock is set while updates run, fail and are tried again: what they took is measured by another one."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from faults.campaign import Play
from faults.tables import BASES, VIEWS
from faults.trouble import drawn
from faults.turns import Process
from faults.world import World

from freshtide.catalog import UpdateStatus
from freshtide.core.costs import CostModel

# No part of an update takes longer in these worlds, and an update has a few of them.
_LONGEST = 120.0


@pytest.mark.parametrize("seed", range(3))
def test_what_updates_took_and_cost_is_never_negative_and_no_retry_is_lost(seed: int) -> None:
    world, rng = World(seed), Random(seed)
    world.temper.slowness, world.temper.failures = 2.0, 0.2
    mix = replace(drawn(rng), clock_steps=0.8, rivals="none", lives=2, deaths=1.0, disk_faults=(0,), sleeps=0.0)
    going_on = Play(world, mix, rng)
    while going_on.is_wanted:
        going_on.step()
    going_on.end_well()
    told = world.history.lines()
    assert any("is set by -" in line for line in told), "the clock was set back"
    catalog = world.books[0].catalog(Process("a reader"))
    ended = [update for name in (*BASES, *VIEWS) for update in catalog.updates.recent(name, 1_000)]
    assert len(ended) >= 30
    assert all(update.seconds is not None and update.seconds >= 0.0 for update in ended)
    # How long those took that nobody saw the end of is anybody's guess.
    seen = [update.seconds for update in ended if update.status is not UpdateStatus.INTERRUPTED]
    assert max(seconds for seconds in seen if seconds is not None) < _LONGEST
    for row in catalog.tables.all().values():
        assert row.busy >= 0.0
        assert min(row.cost.coefficients) >= 0.0
    assert any(row.cost != CostModel() for row in catalog.tables.all().values()), "something was learnt"
