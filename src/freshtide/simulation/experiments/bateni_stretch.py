from __future__ import annotations

from freshtide.guarantees.stretch import STRETCH
from freshtide.scheduling import GroupAndRun, Proportional
from freshtide.simulation.experiments import bateni
from freshtide.simulation.experiments.experiment import Conditions, Experiment, Series
from freshtide.simulation.workload import Workload

_TRACKS = 12
_GROUPS = {100.0: 11, 1_000.0: 7, 10_000.0: 6}
"""Periods, and how many tables have them: of the 12 tracks the groups get 5, 3 and 3."""
_POLICIES = {
    "GROUPANDRUN": bateni.batching("myopic", GroupAndRun()),
    "Groups, Max-Benefit": bateni.batching("max-benefit", GroupAndRun()),
    "Proportional": bateni.batching("max-benefit", Proportional()),
    "FIFO, MYOPIC": bateni.batching("myopic"),
    "EDF": bateni.batching("edf"),
    "Max-Benefit": bateni.batching("max-benefit"),
    "Random": bateni.batching("random"),
}
_BOUND = "Bound of 3"


def _measure(share: float, conditions: Conditions) -> Series:
    alpha = share * _TRACKS / sum(_GROUPS.values())
    tables = tuple(
        bateni.base(f"{period:g}/{number}", pattern="quasiperiodic", period=period, alpha=alpha, fast=number % 2 == 0)
        for period, count in _GROUPS.items()
        for number in range(count)
    )
    workload = Workload(tables=tables, seed=conditions.seed)
    _, flows = bateni.compared(workload, _POLICIES, tracks=_TRACKS, conditions=conditions)
    found = {label: [(share, flow.stretch)] for label, flow in flows.items() if flow.stretch is not None}
    return found | {_BOUND: [(share, STRETCH)]}


FIGURE = Experiment(
    name="bateni-stretch",
    title="Maximum stretch of quasiperiodic tables in three groups",
    x_label=bateni.X_LABEL,
    y_label="Maximum stretch",
    points=(0.02, 0.05, 0.09, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
    labels=(*_POLICIES, _BOUND),
    references=(_BOUND,),
    measure=_measure,
    events=bateni.EVENTS,
    logarithmic=True,
)
"""Theorem 4.3 promises a stretch below 3 up to (p - g) / (8p), which is 0.094 here (Bateni et al. 2009, section 4)."""
