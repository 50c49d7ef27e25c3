"""Tables of very different periods (Golab et al. 2011, section 4.6)."""

from __future__ import annotations

import random

from freshtide.simulation.experiments import golab
from freshtide.simulation.workload import Workload


def workload(load: float, seed: int) -> Workload:
    """Half of the tables have a period of 100 and a priority of 100, half a period of 10,000 and a priority of 1.

    The long ones come together, as nightly dumps do: only then do they take all tracks at once.
    """
    rng = random.Random(seed)
    tables = [
        golab.base(f"short{number}", phase=rng.random(), period=100.0, priority=100.0)
        if number % 2
        else golab.base(f"long{number}", phase=0.0, period=10_000.0, priority=1.0)
        for number in range(golab.TABLES)
    ]
    return golab.loaded(tables, load=load, tracks=golab.TRACKS, seed=seed, slowdown=golab.slowdowns())
