"""Relative lateness, the measure of Golab et al. 2011 (section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from freshtide.scheduling import Policy
from freshtide.simulation.engine import Simulation, without_contention
from freshtide.simulation.experiments.experiment import Conditions, Series
from freshtide.simulation.results import Result, relative_lateness
from freshtide.simulation.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is simulated at one place of the x axis: one workload, a policy for each curve."""

    workload: Workload
    policies: Mapping[str, Policy]
    tracks: int


def lateness(setting: Callable[[float, int], Setting]) -> Callable[[float, Conditions], Series]:
    """Measures each policy at x: weighted staleness against that of the same run without contention.

    `setting` is made from a place on the x axis and a seed.
    """

    def measure(x: float, conditions: Conditions) -> Series:
        found = setting(x, conditions.seed)
        workload = _stretched(found.workload, conditions.stretch)
        uncontended = without_contention(workload, Policy()).run(events=conditions.events)
        return {
            label: [(x, _relative(Simulation(workload, policy, tracks=found.tracks), uncontended))]
            for label, policy in found.policies.items()
        }

    return measure


def _relative(simulation: Simulation, uncontended: Result) -> float:
    return relative_lateness(simulation.run(horizon=uncontended.end), uncontended)


def _stretched(workload: Workload, factor: float) -> Workload:
    slowdown = workload.slowdown
    if slowdown is None:
        return workload
    longer = replace(slowdown, normal=factor * slowdown.normal, slow=factor * slowdown.slow)
    return replace(workload, slowdown=longer)
