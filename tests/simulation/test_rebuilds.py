"""Rebuilds in virtual time: in parts, by the scheduler of a warehouse, and what they cost the others."""

from __future__ import annotations

import pytest

from freshtide.scheduling import TARGET_LAGS
from freshtide.simulation import CompletedUpdate, Rebuild, Result, SimulatedTable, Simulation, Stream, Workload


def workload(*rebuilds: Rebuild) -> Workload:
    return Workload(
        tables=(
            SimulatedTable(name="year", stream=Stream(period=60.0), alpha=0.5, beta=0.01),
            SimulatedTable(name="tight", stream=Stream(period=10.0), alpha=0.5, target_lag=23.0),
            SimulatedTable(name="view", sources=("year",), alpha=0.5, beta=0.01),
        ),
        rebuilds=rebuilds,
    )


def ran(*rebuilds: Rebuild) -> tuple[Result, list[CompletedUpdate]]:
    updates: list[CompletedUpdate] = []
    simulation = Simulation(workload(*rebuilds), TARGET_LAGS, tracks=1, checking=True)
    return simulation.run(horizon=3_600.0, on_update=updates.append), updates


def longest(updates: list[CompletedUpdate], table: str) -> float:
    return max(update.end - update.start for update in updates if update.table == table)


def test_a_rebuild_in_parts_takes_what_the_tightest_target_leaves_and_all_of_its_work_is_done() -> None:
    """12.5s are left beyond a period and an update: a part may take a third, 4.17s, of which 0.5s are fixed."""
    result, updates = ran(Rebuild(table="year", at=100.0, seconds=300.0, longest=10.0, dependents={"view": 2.0}))
    assert longest(updates, "year") < 4.2 + 0.7
    assert result.parts["year"] == 82, "300s of work, 3.67s at a time"
    worked = sum(update.end - update.start - 0.5 for update in updates if update.table == "year")
    assert worked - 0.01 * (result.end - 60.0) == pytest.approx(300.0, abs=2.0)
    assert result.staleness["tight"].maximum <= 23.0, "a healthy table keeps its target"


def test_at_once_it_costs_who_waits_for_it() -> None:
    result, updates = ran(Rebuild(table="year", at=100.0, seconds=300.0))
    assert result.parts["year"] == 1
    assert longest(updates, "year") == pytest.approx(300.5)
    assert result.staleness["tight"].maximum > 300.0


def test_the_table_is_loaded_between_its_parts() -> None:
    result, updates = ran(Rebuild(table="year", at=100.0, seconds=300.0, longest=10.0))
    meanwhile = [
        u for u in updates if u.table == "year" and 100.0 < u.end < result.rebuilt["year"] and u.upto > u.before
    ]
    assert len(meanwhile) >= 3
    assert result.staleness["year"].maximum < 60.0 + 30.0


def test_views_are_computed_anew_after_it_in_one_update_each() -> None:
    result, updates = ran(Rebuild(table="year", at=100.0, seconds=30.0, longest=10.0, dependents={"view": 20.0}))
    assert result.rebuilt["year"] < result.rebuilt["view"]
    assert result.parts["view"] == 1
    assert longest(updates, "view") > 20.0


def test_without_a_rebuild_nothing_is_different() -> None:
    result, _ = ran()
    assert (result.rebuilt, result.parts) == ({}, {})


def test_a_rebuild_in_a_warehouse_that_stops_is_refused() -> None:
    with pytest.raises(ValueError, match="not simulated"):
        Workload(tables=(), rebuilds=(Rebuild(table="year"),), stops=((1.0, 2.0),))


def test_parts_are_made_of_files_as_a_run_makes_them_small_ones_first() -> None:
    """4 MB are thought to take ten seconds, a part may take 4.17s, and each takes four times the one before at most."""
    files = 100 * (1_000_000,)
    result, updates = ran(Rebuild(table="year", at=100.0, seconds=100.0, longest=10.0, weights=files))
    took = [u.end - u.start - 0.5 for u in updates if u.table == "year" and u.start >= 100.0 and u.upto == u.before]
    assert [round(work) for work in took[:3]] == [1, 2, 3], "a second for each file"
    assert sum(took) == pytest.approx(100.0, abs=2.0)
    assert result.parts["year"] == len(took) == 1 + 1 + 33


def test_no_part_has_more_than_a_thousand_files() -> None:
    result, _ = ran(Rebuild(table="year", at=100.0, seconds=0.1, longest=10.0, weights=3_500 * (1,)))
    assert result.parts["year"] == 4
