"""The workload of Golab et al. 2011 that the simulator is measured with."""

from __future__ import annotations

import random

from freshtide.simulation import SimulatedTable, Slowdown, Stream, Workload

PERIOD = 100.0


def alike(tables: int, *, load: float, tracks: int) -> Workload:
    """Table 2 of the paper, scaled to a mean load of the tracks; half of the time is slow by a factor of 3."""
    rng = random.Random(tables)
    scale = load * tracks / (tables * (1.0 / PERIOD + 0.1)) / 2.0
    return Workload(
        tables=tuple(
            SimulatedTable(
                name=f"t{number}",
                stream=Stream(period=PERIOD, phase=rng.uniform(0.0, PERIOD)),
                # Not quite alike: which of two equals goes first would hang on the last digit.
                alpha=scale * (1.0 + 0.1 * number / tables),
                beta=0.1 * scale,
            )
            for number in range(tables)
        ),
        seed=7,
        variability=0.5,
        slowdown=Slowdown(factor=3.0, normal=5_000.0, slow=5_000.0),
    )
