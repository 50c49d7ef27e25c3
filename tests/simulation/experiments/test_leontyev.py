"""The shapes of figure 9 of Leontyev et al. 2010."""

from __future__ import annotations

import functools
import itertools

import pytest

from freshtide.simulation.experiments import EXPERIMENTS, Conditions
from freshtide.simulation.experiments.leontyev import CUT, HEALTHY, OUTAGE

SEEDS = [1, pytest.param(2, marks=pytest.mark.slow)]
PERIODS = {**dict.fromkeys(CUT, 300.0), **dict.fromkeys(HEALTHY, 900.0)}

Curve = list[tuple[float, float]]


@functools.cache
def curve(figure: str, scheduler: str, table: str, seed: int) -> Curve:
    measured = EXPERIMENTS[figure].measure(scheduler, Conditions(events=float("inf"), seed=seed))
    return measured[f"{scheduler} {table}"]


def highest(points: Curve) -> float:
    return max(gap for _, gap in points)


def recovered_at(figure: str, scheduler: str, table: str, seed: int) -> float:
    """When a table is last behind by more than one file."""
    return max(moment for moment, gap in curve(figure, scheduler, table, seed) if gap > 1.5 * PERIODS[table])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("figure", ["leontyev-fig9b", "leontyev-fig9b-worst", "leontyev-fig9b-worst-early"])
def test_under_aus_healthy_tables_never_fall_behind_by_more_than_their_period(figure: str, seed: int) -> None:
    for table in HEALTHY:
        assert highest(curve(figure, "AUS", table, seed)) <= PERIODS[table] * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_under_prp_all_healthy_tables_pay_for_the_recovery_of_others(seed: int) -> None:
    behind = [highest(curve("leontyev-fig9b", "PRP", table, seed)) for table in HEALTHY]
    assert min(behind) >= 2 * PERIODS["V8"]
    assert max(behind) >= 3 * PERIODS["V8"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("figure", ["leontyev-fig9a", "leontyev-fig9a-worst"])
def test_nobody_is_behind_before_the_outage(figure: str, seed: int) -> None:
    for scheduler in ("PRP", "AUS"):
        for table in CUT:
            before = [gap for moment, gap in curve(figure, scheduler, table, seed) if moment < OUTAGE[1]]
            assert max(before) <= PERIODS[table] * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_aus_recovers_one_table_after_the_other_and_prp_all_together(seed: int) -> None:
    adaptive = sorted(recovered_at("leontyev-fig9a", "AUS", table, seed) for table in CUT)
    together = sorted(recovered_at("leontyev-fig9a", "PRP", table, seed) for table in CUT)
    assert min(later - sooner for sooner, later in itertools.pairwise(adaptive)) > 2 * PERIODS["V1"]
    assert together[-1] < 12_500.0 < adaptive[-1] < 16_000.0


@pytest.mark.parametrize("seed", SEEDS)
def test_worst_case_recovery_periods_take_much_longer(seed: int) -> None:
    slow, quick = (
        max(recovered_at(figure, "AUS", table, seed) for table in CUT)
        for figure in ("leontyev-fig9a-worst", "leontyev-fig9a")
    )
    assert slow - OUTAGE[1] > 2 * (quick - OUTAGE[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_idle_tracks_end_the_recovery_with_worst_case_costs_far_earlier(seed: int) -> None:
    early, papers = (
        max(recovered_at(figure, "AUS", table, seed) for table in CUT)
        for figure in ("leontyev-fig9a-worst-early", "leontyev-fig9a-worst")
    )
    assert early - OUTAGE[1] <= 0.5 * (papers - OUTAGE[1])
