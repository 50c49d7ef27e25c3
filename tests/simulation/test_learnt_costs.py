"""A simulated scheduler that learns what updates cost, from updates that take now longer, now shorter."""

from __future__ import annotations

import numpy as np
import pytest

from freshtide.core.costs import CostModel
from freshtide.scheduling import GlobalAllocation, Policy
from freshtide.simulation import CompletedUpdate, SimulatedTable, Simulation, Slowdown, Stream, Workload


def _fitted(updates: list[CompletedUpdate], memory: float) -> tuple[float, float]:
    """(alpha, beta) of the line through what updates took, the younger counting more, by numpy's least squares."""
    gained = np.array([update.upto - update.before for update in updates])
    took = np.array([update.end - update.start for update in updates])
    # polyfit weighs residuals before they are squared.
    weights = np.sqrt(memory ** np.arange(len(updates) - 1, -1, -1))
    beta, alpha = np.polyfit(gained, took, 1, w=weights)
    return float(alpha), float(beta)


def test_what_is_learnt_is_the_line_through_the_noisy_updates_that_were_seen() -> None:
    stream = Stream(period=10.0, pattern="quasiperiodic")
    table = SimulatedTable(name="t", stream=stream, alpha=2.0, beta=0.3, believed=CostModel())
    workload = Workload(tables=(table,), seed=5, variability=0.3)
    simulation = Simulation(workload, Policy(allocation=GlobalAllocation(), chopping=None), tracks=1, checking=True)
    updates: list[CompletedUpdate] = []
    simulation.run(horizon=5_000.0, on_update=updates.append)
    learnt = simulation.scheduler.cost("t")
    assert learnt.coefficients == pytest.approx(_fitted(updates, CostModel().memory))
    assert learnt.coefficients != pytest.approx((2.0, 0.3), rel=1e-3), "it is not told the truth"
    assert learnt.expected(7.5) == pytest.approx(2.0 + 0.3 * 7.5, rel=0.3)


def test_a_machine_that_slows_down_is_noticed() -> None:
    table = SimulatedTable(name="t", stream=Stream(period=100.0), alpha=5.0, believed=CostModel())
    workload = Workload(tables=(table,), slowdown=Slowdown(factor=4.0, normal=10_000.0, slow=10_000.0))
    simulation = Simulation(workload, Policy(), tracks=1)
    simulation.run(horizon=19_000.0)
    assert simulation.scheduler.cost("t").expected(100.0) == pytest.approx(20.0, rel=1e-3)
