from __future__ import annotations

from freshtide.guarantees import EagerLoad, eager_breaches, eager_factor
from freshtide.simulation.experiments import bateni
from freshtide.simulation.experiments.experiment import Conditions, Experiment, Series
from freshtide.simulation.workload import Workload

_TABLES, _TRACKS = 16, 4
_PERIODS = (50.0, 100.0, 200.0, 400.0)
_POLICIES = {
    "FIFO, MYOPIC": bateni.batching("myopic"),
    "EDF": bateni.batching("edf"),
    "EDF-P": bateni.batching("edf-p"),
    "Max-Benefit": bateni.batching("max-benefit"),
    "Random": bateni.batching("random"),
}
_ALONE = "A track for each"
_BOUND = "Theorem 3.1"


def _measure(share: float, conditions: Conditions) -> Series:
    load = EagerLoad(alpha=share * _TRACKS / _TABLES, tracks=_TRACKS, tables=_TABLES)
    tables = tuple(
        bateni.base(
            f"t{number}",
            pattern="adversarial",
            period=_PERIODS[number % len(_PERIODS)],
            alpha=load.alpha,
            fast=number % 3 == 0,
            priority=10.0 if number % 8 < 4 else 1.0,
        )
        for number in range(_TABLES)
    )
    workload = Workload(tables=tables, seed=conditions.seed)
    alone, flows = bateni.compared(workload, _POLICIES, tracks=_TRACKS, conditions=conditions)
    ratios = {label: flow.staleness_over_half_low for label, flow in {**flows, _ALONE: alone}.items()}
    bound = [] if eager_breaches(load) else [(share, eager_factor(load))]
    return {label: [(share, ratio)] for label, ratio in ratios.items() if ratio is not None} | {_BOUND: bound}


FIGURE = Experiment(
    name="bateni-competitive",
    title="Eager schedulers against the least possible staleness",
    x_label=bateni.X_LABEL,
    y_label="Total staleness through LOW/2",
    points=(0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.36, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
    labels=(*_POLICIES, _ALONE, _BOUND),
    references=(_BOUND,),
    measure=_measure,
    events=bateni.EVENTS,
    top=5.0,
)
"""16 tables on 4 tracks, files as an adversary has them, and eager schedulers (Bateni et al. 2009, section 3).

The theorem bounds the penalty, which is more than twice the staleness, for alpha t / p below 0.366.
"""
