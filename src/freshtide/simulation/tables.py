"""Tables in the simulated world: how fresh they really are, what their updates take, and whether these fail."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from freshtide.core.events import DataArrived, UpdateFinished
from freshtide.simulation.staleness import StalenessRecord
from freshtide.simulation.workload import Failures, SimulatedTable


@dataclass(slots=True)
class CompletedUpdate:
    """One line of a trace."""

    table: str
    track: int
    start: float
    end: float
    before: float
    upto: float


@dataclass(slots=True)
class RunningTable:
    """A table in the midst of a run: how fresh it really is, and what its next update takes."""

    alpha: float
    beta: float
    draw: Callable[[], float]
    lateness: float
    record: StalenessRecord
    moments: list[float]
    freshnesses: list[float]
    """The last ones of the record."""
    arrival: DataArrived
    """Of the last file that was told alone. The scheduler keeps no events: it is written anew for the next one."""
    ending: UpdateFinished
    """Of the running update, and then of the next."""
    failures: Failures | None
    chance: Callable[[], float]
    """Draws whether an update fails: from numbers of its own, so that it takes as long as if none did."""
    freshness: float
    started_at: float = 0.0
    upto: float = 0.0
    failed: int = 0
    """How many updates have."""

    def fails(self, start: float, end: float) -> bool:
        """Whether an update does that runs from then to then."""
        return self.failures is not None and self.failures.strike(start, end, self.chance())

    def completed(self, now: float) -> CompletedUpdate:
        ending = self.ending
        return CompletedUpdate(ending.table, ending.track, self.started_at, now, self.freshness, self.upto)


def running_table(
    table: SimulatedTable, seed: int, freshness: float, *, variability: float | None = None
) -> RunningTable:
    """A table as it is at first, that fresh; with a variability it draws whole factors, not numbers from [0, 1)."""
    # Each table draws from its own numbers: its n-th update takes as long under any policy.
    record = StalenessRecord(freshness)
    late = table.stream.late if table.stream is not None else None
    return RunningTable(
        alpha=table.alpha,
        beta=table.beta,
        draw=_draw(table, random.Random(f"{seed}/{table.name}").random, variability),
        lateness=0.0 if late is None else late.by,
        record=record,
        moments=record.moments,
        freshnesses=record.freshnesses,
        arrival=DataArrived(table.name, 0.0),
        ending=UpdateFinished(table.name, -1, 0.0, 0.0, 0.0),
        failures=table.failures,
        chance=random.Random(f"{seed}/{table.name}/failures").random,
        freshness=freshness,
    )


def _draw(table: SimulatedTable, uniform: Callable[[], float], variability: float | None) -> Callable[[], float]:
    if variability is None:
        return uniform
    if not table.factors:
        return lambda: 1.0 + variability * (2.0 * uniform() - 1.0)
    factors, count = table.factors, len(table.factors)
    return lambda: factors[int(count * uniform())]
