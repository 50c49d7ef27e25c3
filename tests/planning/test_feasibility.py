from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.core.costs import CostModel
from freshtide.core.errors import ProjectError
from freshtide.planning import require_tracks
from freshtide.runtime.parts import unpaced
from tests.observe.shop import Shop, write_project

MINUTES = 60.0


@pytest.fixture
def partitioned(tmp_path: Path) -> Iterator[Shop]:
    """The shop with home tracks for its tables, two in all. Orders come every 5 minutes, clicks every hour."""
    opened = Shop.open(write_project(tmp_path, "edf-partitioned"))
    yield opened
    opened.close()


def takes(seconds: float) -> CostModel:
    return CostModel.learnt_from([(300.0, seconds), (300.0, seconds)])


def test_costs_that_nobody_knows_yet_may_be_learnt(partitioned: Shop) -> None:
    require_tracks(partitioned.project, partitioned.catalog)
    partitioned.is_fresh("orders", 0.0)
    require_tracks(partitioned.project, partitioned.catalog)


def test_learnt_costs_that_fit_are_fine(partitioned: Shop) -> None:
    for name in partitioned.project.graph:
        partitioned.is_fresh(name, 0.0, cost=takes(10.0))
    require_tracks(partitioned.project, partitioned.catalog)


def test_learnt_costs_that_do_not_fit_are_refused_with_the_number_of_tracks_that_would_do(partitioned: Shop) -> None:
    for name in ("orders", "hourly"):
        partitioned.is_fresh(name, 0.0, cost=takes(2 * MINUTES))
    require_tracks(partitioned.project, partitioned.catalog)
    partitioned.is_fresh("clicks", 0.0, cost=takes(29 * MINUTES))
    with pytest.raises(ProjectError, match="3 tracks would do"):
        require_tracks(partitioned.project, partitioned.catalog)


def test_a_table_that_fits_nowhere_is_named(partitioned: Shop) -> None:
    partitioned.is_fresh("orders", 0.0, cost=takes(4 * MINUTES))
    with pytest.raises(ProjectError, match="'orders' takes 240s of every 300s"):
        require_tracks(partitioned.project, partitioned.catalog)


def test_paused_and_failed_tables_need_no_track(partitioned: Shop) -> None:
    partitioned.is_fresh("orders", 0.0, cost=takes(4 * MINUTES), status="paused")
    require_tracks(partitioned.project, partitioned.catalog)


def test_groups_go_by_periods_which_are_known_before_anything_has_run(tmp_path: Path) -> None:
    """Orders and clicks, an hour and five minutes apart, are two groups: four tracks."""
    opened = Shop.open(write_project(tmp_path, "group-and-run"))
    with pytest.raises(
        ProjectError, match=r"group-and-run is not possible: the tables form 2 groups.*4 tracks would do"
    ):
        require_tracks(opened.project, opened.catalog)
    for name in ("clicks", "sales", "large_sales"):
        opened.is_fresh(name, 0.0, status="paused")
    require_tracks(opened.project, opened.catalog)
    opened.close()


def test_other_allocations_promise_nothing(shop: Shop) -> None:
    shop.is_fresh("orders", 0.0, cost=takes(60 * MINUTES))
    require_tracks(shop.project, shop.catalog)


@pytest.fixture
def paced(tmp_path: Path) -> Iterator[Shop]:
    """The shop under the adaptive scheduler."""
    opened = Shop.open(write_project(tmp_path, "adaptive"))
    yield opened
    opened.close()


def test_shares_that_cannot_be_reserved_are_all_told(paced: Shop) -> None:
    paced.is_fresh("orders", 0.0, cost=takes(6 * MINUTES))
    paced.is_fresh("sales", 0.0, cost=takes(66 * MINUTES))
    with pytest.raises(ProjectError) as caught:
        require_tracks(paced.project, paced.catalog)
    told = [problem.message for problem in caught.value.problems]
    assert len(told) == 3
    assert all(message.startswith("adaptive is not possible: ") for message in told)
    assert "'orders' takes 6m" in told[0]
    assert "'sales' takes 1h 6m" in told[1]
    assert "2.3 tracks" in told[2]


def test_shares_that_fit_or_that_nobody_knows_can_be_reserved(paced: Shop) -> None:
    require_tracks(paced.project, paced.catalog)
    for name in ("orders", "hourly"):
        paced.is_fresh(name, 0.0, cost=takes(2 * MINUTES))
    require_tracks(paced.project, paced.catalog)


def test_a_single_pass_reserves_nothing(paced: Shop) -> None:
    for name in ("orders", "hourly"):
        paced.is_fresh(name, 0.0, cost=takes(6 * MINUTES))
    once = unpaced(paced.project)
    assert (once.settings.policy.adaptive, once.settings.policy.ordering) == (None, "edf")
    require_tracks(once, paced.catalog)


def test_a_project_without_reservations_runs_a_single_pass_as_it_is(shop: Shop) -> None:
    assert unpaced(shop.project) is shop.project
