"""python -m tests.compiled.runs COUNT: random worlds, simulated under all kinds of policies.

They are the same for whoever asks. Prints where the scheduler comes from, and then a line for each world: all updates,
to the last digit.
"""

from __future__ import annotations

import json
import random
import sys

from freshtide.core.costs import CostModel
from freshtide.scheduling import (
    ORDERINGS,
    SLACK,
    EdfPartitioned,
    GlobalAllocation,
    GroupAndRun,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    Policy,
    Proportional,
    SumInheritance,
    adaptive_policy,
    scheduler,
)
from freshtide.scheduling.adaptive import Adaptive
from freshtide.simulation import (
    CompletedUpdate,
    Failures,
    Lateness,
    SimulatedTable,
    Simulation,
    Slowdown,
    Standing,
    Stream,
    Workload,
)

_EVENTS = 400


def main(count: int) -> None:
    lines = [str(scheduler.__file__)]
    for seed in range(count):
        rng = random.Random(seed)
        workload, policy, tracks = _workload(rng), _policy(rng), rng.randint(1, 4)
        updates: list[CompletedUpdate] = []
        simulation = Simulation(workload, policy, tracks=tracks, checking=True)
        result = simulation.run(events=_EVENTS, on_update=updates.append)
        told = [(u.table, u.track, u.start, u.end, u.before, u.upto) for u in updates]
        lines.append(json.dumps({"world": seed, "updates": told, "staleness": result.weighted_staleness}))
    sys.stdout.write("\n".join(lines) + "\n")


def _workload(rng: random.Random) -> Workload:
    bases = [
        SimulatedTable(
            name=f"base{number}",
            stream=_stream(rng),
            priority=rng.choice((1.0, 2.0, 10.0)),
            alpha=rng.uniform(0.1, 5.0),
            beta=rng.uniform(0.0, 0.2),
            believed=rng.choice((None, CostModel())),
            failures=rng.choice((None, None, Failures(share=0.2, during=((30.0, 60.0),), resumed_after=20.0))),
            standing=rng.choice((Standing(), Standing(freshness=-50.0, safe=-50.0, pending=(-30.0, -10.0)))),
        )
        for number in range(rng.randint(1, 8))
    ]
    tables = list(bases)
    for number in range(rng.randint(0, 5)):
        sources = rng.sample(tables, min(len(tables), rng.randint(1, 3)))
        tables.append(
            SimulatedTable(
                name=f"view{number}",
                sources=tuple(source.name for source in sources),
                priority=rng.choice((1.0, 5.0)),
                alpha=rng.uniform(0.1, 3.0),
                beta=rng.uniform(0.0, 0.1),
            )
        )
    return Workload(
        tables=tuple(tables),
        seed=rng.randrange(1_000),
        variability=rng.choice((0.0, 0.5)),
        slowdown=rng.choice((None, Slowdown(factor=3.0, normal=100.0, slow=50.0))),
        stops=rng.choice(((), ((70.0, 90.0), (100.0, 101.0)))),
    )


def _stream(rng: random.Random) -> Stream:
    period = rng.choice((5.0, 10.0, 60.0))
    return rng.choice(
        (
            Stream(period=period, phase=rng.uniform(0.0, period)),
            # Many tables with files at one moment.
            Stream(period=period),
            Stream(period=period, jitter=period / 2.0, outages=((20.0, 90.0),)),
            Stream(period=period, late=Lateness(share=0.3, by=2.0 * period)),
            Stream(period=period, pattern="quasiperiodic"),
        )
    )


def _policy(rng: random.Random) -> Policy:
    if rng.random() < 0.15:
        return adaptive_policy(Adaptive())
    return Policy(
        ordering=rng.choice(list(ORDERINGS)),
        allocation=rng.choice(
            (
                GlobalAllocation(),
                EdfPartitioned(aggressive=rng.random() < 0.5),
                Proportional(aggressive=rng.random() < 0.5, tracks=rng.choice(("all", "basic"))),
                GroupAndRun(),
            )
        ),
        inheritance=rng.choice((NoInheritance(), SumInheritance(), MaxInheritance(), MaxPlusInheritance(k=2.0))),
        chopping=rng.choice((None, 1.0, 3.0, SLACK)),
        seed=rng.randrange(10),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
