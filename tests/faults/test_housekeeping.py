"""The real housekeeping in a simulated world: no log is read from its beginning again and again."""

from __future__ import annotations

from faults.tables import ROOT
from faults.world import World

from freshtide.storage.deltalog import listing

_UPDATES = 40


def test_what_else_a_flow_writes_gets_checkpoints_as_its_table_does() -> None:
    world = World(1)
    world.temper.slowness = 0.05
    world.begin_life()
    disk = world.disk.another_process()
    while world.oracle.table("c").number <= _UPDATES:
        world.producer.land(disk, "to_split")
        world.go_on(5.0)
    for name in ("c", "c_small"):
        found = listing(disk, ROOT / "warehouse" / name)
        assert max(found.entries) >= _UPDATES, "one version for each load"
        assert found.checkpoints, f"opening '{name}' reads {len(found.entries)} entries"
