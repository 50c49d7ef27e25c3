"""What the theorems of Bateni et al. 2009 come to. The paper has no measurements.

As in its model, an update takes a time in proportion to what it loads, with nothing for its beginning, and loads all
that is pending. `alpha t / p` is how busy the tracks are if every table takes alpha for a second of data.
"""

from __future__ import annotations

from collections.abc import Mapping

from freshtide.guarantees import STRETCH, EagerLoad, eager_breaches, eager_factor
from freshtide.scheduling import Allocation, GlobalAllocation, GroupAndRun, NoInheritance, Policy, Proportional
from freshtide.simulation.engine import Simulation, without_contention
from freshtide.simulation.experiments.experiment import Axes, Conditions, Experiment, Series
from freshtide.simulation.results import WarehouseFlow
from freshtide.simulation.workload import Pattern, SimulatedTable, Stream, Workload

X_LABEL = "alpha t / p"
EVENTS = 100_000
FASTER = 0.8
"""Of alpha: what the faster tables take, so that schedulers which go by costs have something to go by."""


def base(
    name: str, *, pattern: Pattern, period: float, alpha: float, fast: bool, priority: float = 1.0
) -> SimulatedTable:
    """A base table whose updates take alpha, or a little less, for a second of data."""
    stream = Stream(period=period, pattern=pattern)
    return SimulatedTable(
        name=name, stream=stream, priority=priority, alpha=0.0, beta=alpha * (FASTER if fast else 1.0)
    )


def batching(ordering: str, allocation: Allocation | None = None) -> Policy:
    """Loads all that is pending, on any track if nothing else is said: then it is eager."""
    return Policy(
        ordering=ordering, allocation=allocation or GlobalAllocation(), inheritance=NoInheritance(), chopping=None
    )


def compared(
    workload: Workload, policies: Mapping[str, Policy], *, tracks: int, conditions: Conditions
) -> tuple[WarehouseFlow, dict[str, WarehouseFlow]]:
    """How updates flow with a track for every table, and under each policy over the same time."""
    uncontended = without_contention(workload, chopping=None).run(events=conditions.events)
    return uncontended.flow(), {
        label: Simulation(workload, policy, tracks=tracks).run(horizon=uncontended.end).flow()
        for label, policy in policies.items()
    }


# Any eager scheduler (section 3): tables of four periods and two priorities, files as an adversary has them.
EAGER_TABLES, EAGER_TRACKS = 16, 4
EAGER_PERIODS = (50.0, 100.0, 200.0, 400.0)
EAGER_POLICIES = {
    "FIFO, MYOPIC": batching("myopic"),
    "EDF": batching("edf"),
    "EDF-P": batching("edf-p"),
    "Max-Benefit": batching("max-benefit"),
    "Random": batching("random"),
}
ALONE = "A track for each"
THEOREM = "Theorem 3.1"


def competitiveness(share: float, conditions: Conditions) -> Series:
    """Of eager schedulers, and what the theorem says as long as its conditions hold."""
    load = EagerLoad(alpha=share * EAGER_TRACKS / EAGER_TABLES, tracks=EAGER_TRACKS, tables=EAGER_TABLES)
    tables = tuple(
        base(
            f"t{number}",
            pattern="adversarial",
            period=EAGER_PERIODS[number % len(EAGER_PERIODS)],
            alpha=load.alpha,
            fast=number % 3 == 0,
            priority=10.0 if number % 8 < 4 else 1.0,
        )
        for number in range(EAGER_TABLES)
    )
    workload = Workload(tables=tables, seed=conditions.seed)
    alone, flows = compared(workload, EAGER_POLICIES, tracks=EAGER_TRACKS, conditions=conditions)
    ratios = {label: flow.staleness_over_half_low for label, flow in {**flows, ALONE: alone}.items()}
    bound = [] if eager_breaches(load) else [(share, eager_factor(load))]
    return {label: [(share, ratio)] for label, ratio in ratios.items() if ratio is not None} | {THEOREM: bound}


# GROUPANDRUN (section 4) and others, with tables in three groups.
GROUPS = {100.0: 11, 1_000.0: 7, 10_000.0: 6}
"""Periods, and how many tables have them: of the 12 tracks the groups get 5, 3 and 3."""
GROUPED_TRACKS = 12
GROUPED_POLICIES = {
    "GROUPANDRUN": batching("myopic", GroupAndRun()),
    "Groups, Max-Benefit": batching("max-benefit", GroupAndRun()),
    "Proportional": batching("max-benefit", Proportional()),
    "FIFO, MYOPIC": batching("myopic"),
    "EDF": batching("edf"),
    "Max-Benefit": batching("max-benefit"),
    "Random": batching("random"),
}
BOUND = "Bound of 3"


def stretch(share: float, conditions: Conditions) -> Series:
    """The largest, of quasiperiodic tables."""
    alpha = share * GROUPED_TRACKS / sum(GROUPS.values())
    tables = tuple(
        base(f"{period:g}/{number}", pattern="quasiperiodic", period=period, alpha=alpha, fast=number % 2 == 0)
        for period, count in GROUPS.items()
        for number in range(count)
    )
    workload = Workload(tables=tables, seed=conditions.seed)
    _, flows = compared(workload, GROUPED_POLICIES, tracks=GROUPED_TRACKS, conditions=conditions)
    found = {label: [(share, flow.stretch)] for label, flow in flows.items() if flow.stretch is not None}
    return found | {BOUND: [(share, STRETCH)]}


FIGURES: tuple[Experiment[float], ...] = (
    Experiment(
        name="bateni-competitive",
        title="Eager schedulers against the least possible staleness",
        paper="Bateni et al. 2009, section 3",
        caption="16 tables on 4 tracks, files as an adversary has them, and eager schedulers. The theorem bounds the "
        "penalty, which is more than twice the staleness, for alpha t / p below 0.366.",
        axes=Axes(x=X_LABEL, y="Total staleness through LOW/2", top=5.0),
        labels=(*EAGER_POLICIES, ALONE, THEOREM),
        references=(THEOREM,),
        points=(0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.36, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
        measure=competitiveness,
        events=EVENTS,
    ),
    Experiment(
        name="bateni-stretch",
        title="Maximum stretch of quasiperiodic tables in three groups",
        paper="Bateni et al. 2009, section 4",
        caption="Theorem 4.3 promises a stretch below 3 up to (p - g) / (8p), which is 0.094 here.",
        axes=Axes(x=X_LABEL, y="Maximum stretch", logarithmic=True),
        labels=(*GROUPED_POLICIES, BOUND),
        references=(BOUND,),
        points=(0.02, 0.05, 0.09, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
        measure=stretch,
        events=EVENTS,
    ),
)
