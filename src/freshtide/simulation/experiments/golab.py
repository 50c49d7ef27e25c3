"""What the experiments of Golab et al. 2011, section 4, have in common: table 2, loads and slowdowns.

`U_tot` is the share of the tracks that the tables keep busy on average if each is updated once a period, slowdowns
included. Files come at fixed periods with phases drawn from the seed; the paper does not say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from freshtide.scheduling import GlobalAllocation, MaxInheritance, Policy
from freshtide.simulation.workload import SimulatedTable, Slowdown, Stream, Workload

TABLES = 30
TRACKS = 4
PERIOD = 100.0
ALPHA = 1.0
BETA = 0.1
VARIABILITY = 0.5
SLOWDOWN = 3.0
# The paper does not give the lengths of slow and normal times. In a hundred periods a backlog grows and is worked off.
SLOW_LENGTH = 100 * PERIOD

X_LABEL = "Utot"
Y_LABEL = "Relative lateness"
LOADS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05)

SINGLE_QUEUE = Policy(allocation=GlobalAllocation(), inheritance=MaxInheritance(), chopping=None)
"""Max Benefit over one queue for all tracks, everything that is pending at once."""


def slowdowns(factor: float = SLOWDOWN, *, slow: float = SLOW_LENGTH) -> Slowdown:
    """Slow for a share of 1 / (S - 1) of the time, so that an update takes twice as long as normal on average."""
    return Slowdown(factor=factor, normal=slow * (factor - 2.0), slow=slow)


def base(
    name: str, *, phase: float, period: float = PERIOD, priority: float = 1.0, beta: float = BETA
) -> SimulatedTable:
    """A base table with the values of table 2 where nothing else is said; the phase is a share of the period."""
    stream = Stream(period=period, phase=phase * period)
    return SimulatedTable(name=name, stream=stream, priority=priority, alpha=ALPHA, beta=beta)


def loaded(
    tables: Iterable[SimulatedTable], *, load: float, tracks: int, seed: int, slowdown: Slowdown | None
) -> Workload:
    """The tables with execution times scaled so that they load the tracks by this much on average."""
    plain = Workload(tables=tuple(tables), seed=seed, variability=VARIABILITY, slowdown=slowdown)
    usual = plain.utilisation() * (1.0 if slowdown is None else _mean_factor(slowdown))
    scale = load * tracks / usual
    scaled = tuple(replace(table, alpha=scale * table.alpha, beta=scale * table.beta) for table in plain.tables)
    return replace(plain, tables=scaled)


def _mean_factor(slowdown: Slowdown) -> float:
    return (slowdown.normal + slowdown.factor * slowdown.slow) / (slowdown.normal + slowdown.slow)
