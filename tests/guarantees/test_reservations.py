"""The bounds of Leontyev et al. 2010 as functions of a set of tables."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from freshtide.guarantees import (
    Reserved,
    breaches,
    fastest_recovery,
    joint_recovery,
    recovery_time,
    recovery_times,
    response_bounds,
    staleness_bounds,
    tardiness_bounds,
    total_utilisation,
    whole_buckets,
)


def reserved(table: str, *sources: str, period: float, execution: float, recovery: float | None = None) -> Reserved:
    return Reserved(
        table=table,
        period=period,
        execution=execution,
        recovery_period=period if recovery is None else recovery,
        sources=sources,
    )


def papers_tables(*, factor: float = 1.0) -> list[Reserved]:
    """Section VII: seven tables with a period of 300, seven with 900, each loading its track by 0.01 + 0.1."""
    return [
        reserved(f"V{number}", period=period, execution=factor * 0.11 * period)
        for number, period in enumerate([300.0] * 7 + [900.0] * 7, start=1)
    ]


def test_recovery_periods_of_the_papers_experiment() -> None:
    """About p/5.2 by average costs, as section VII says, and about p/2.2 by the worst."""
    for factor, share in ((1.0, 5.2), (1.2, 2.2)):
        tables = papers_tables(factor=factor)
        total = total_utilisation(tables)
        for table in tables:
            recovery = fastest_recovery(
                execution=table.execution, period=table.period, total_utilisation=total, tracks=2
            )
            assert table.period / recovery == pytest.approx(share, abs=0.05)


def test_the_fastest_recovery_never_takes_more_than_a_track() -> None:
    assert fastest_recovery(execution=2.0, period=10.0, total_utilisation=0.2, tracks=4) == 2.0


def test_the_fastest_recovery_fills_what_the_others_leave() -> None:
    recovery = fastest_recovery(execution=1.0, period=3.0, total_utilisation=2.0 / 3.0, tracks=1)
    assert recovery == pytest.approx(1.5)


def test_where_nothing_is_left_there_is_no_faster_recovery() -> None:
    assert fastest_recovery(execution=1.0, period=2.0, total_utilisation=2.0, tracks=1) == 2.0


def test_joint_recovery_lets_all_in_at_once() -> None:
    tables = papers_tables()
    total = total_utilisation(tables)
    shares = [
        table.execution
        / joint_recovery(execution=table.execution, period=table.period, total_utilisation=total, tracks=2)
        for table in tables
    ]
    assert sum(shares) == pytest.approx(2.0)


def test_tardiness_on_one_track_is_the_longest_update_beyond_the_own() -> None:
    """Theorem 1 with m = 1: Y = e + (largest - smallest) / 1."""
    tables = [reserved("short", period=10.0, execution=1.0), reserved("long", period=10.0, execution=4.0)]
    assert tardiness_bounds(tables, 1) == {"short": 1.0 + 3.0, "long": 4.0 + 3.0}


def test_tardiness_on_several_tracks_counts_recovery_shares() -> None:
    """Theorem 1 with m = 2: (4 + 3 - 1) / (2 - 1/2), as the largest share is 4/8 in recovery mode."""
    tables = [
        reserved("a", period=10.0, execution=1.0),
        reserved("b", period=20.0, execution=4.0, recovery=8.0),
        reserved("c", period=20.0, execution=3.0),
    ]
    assert tardiness_bounds(tables, 2)["a"] == pytest.approx(1.0 + 6.0 / 1.5)


def test_what_updates_take_at_once_beyond_their_share_delays_all_of_them() -> None:
    """Theorem 1 with m = 1: the bursts of both tables lie before any update, and its own is its own once more."""
    tables = [reserved("plain", period=10.0, execution=1.0), reserved("bursty", period=10.0, execution=4.0)]
    tables[1] = replace(tables[1], burst=6.0)
    assert tardiness_bounds(tables, 1) == {"plain": 1.0 + 3.0 + 6.0, "bursty": 4.0 + 6.0 + 3.0 + 6.0}


def test_with_a_track_for_each_table_a_burst_delays_nobody_else() -> None:
    tables = [reserved("plain", period=10.0, execution=1.0), reserved("bursty", period=10.0, execution=1.0)]
    without = tardiness_bounds(tables, 2)["plain"]
    assert tardiness_bounds([tables[0], replace(tables[1], burst=6.0)], 2) == {
        "plain": without,
        "bursty": without + 6.0,
    }


def test_more_tracks_than_tables_are_no_trouble() -> None:
    assert tardiness_bounds([reserved("a", period=10.0, execution=2.0)], 4) == {"a": 2.0}


def test_staleness_adds_up_along_the_graph() -> None:
    """Definition 13 on one track: Y = 1 for equal tables, Theta = p + 1."""
    base = Reserved(
        table="b",
        period=4.0,
        execution=1.0,
        recovery_period=4.0,
        phase=3.0,
        arrival_jitter=0.5,
        timestamp_jitter=0.25,
        held_back=2.0,
    )
    view = reserved("v", "b", period=4.0, execution=1.0)
    assert response_bounds([base, view], 1) == {"b": 5.0, "v": 5.0}
    bound = 5.0 + 4.0 + 4.75
    assert staleness_bounds([base, view], 1) == {"b": bound, "v": 5.0 + 4.0 + bound + 2.0}


def test_a_late_first_file_counts_if_it_is_later_than_a_period() -> None:
    base = Reserved(table="b", period=4.0, execution=1.0, recovery_period=4.0, phase=30.0)
    assert staleness_bounds([base], 1) == {"b": 5.0 + 4.0 + 30.0}


def test_recovery_takes_longer_the_longer_the_outage() -> None:
    """Theorem 4: (Theta p + (lambda + J + p) p_r) / (p - p_r)."""
    table = reserved("b", period=3.0, execution=1.0, recovery=1.5)
    assert recovery_time(table, 4.0, 9.0) == pytest.approx((4.0 * 3.0 + (9.0 + 3.0) * 1.5) / 1.5)


def test_without_a_shorter_period_a_table_never_recovers() -> None:
    tables = [reserved("b", period=3.0, execution=1.0), reserved("v", "b", period=3.0, execution=1.0)]
    assert recovery_times(tables, 1, 9.0) == {"b": math.inf}


def test_a_set_that_fits_breaks_nothing() -> None:
    assert breaches(papers_tables(), 2) == []


def test_more_load_than_tracks_names_the_largest_share_and_the_tracks_that_would_do() -> None:
    (breach,) = breaches([reserved("a", period=2.0, execution=1.5), reserved("b", period=2.0, execution=1.0)], 1)
    assert breach.tracks_needed == 2
    assert "1.25 tracks" in breach.reason
    assert "'a'" in breach.reason


def test_a_table_that_takes_longer_than_its_period_is_named_with_the_period_that_would_do() -> None:
    found = breaches([reserved("a", period=2.0, execution=3.0)], 4)
    assert [breach.table for breach in found] == ["a"]
    assert found[0].tracks_needed is None
    assert "3s" in found[0].way_out


@pytest.mark.parametrize("recovery", [0.5, 4.0])
def test_a_recovery_period_lies_between_the_cost_and_the_period(recovery: float) -> None:
    (breach,) = breaches([reserved("a", period=3.0, execution=1.0, recovery=recovery)], 1)
    assert breach.way_out == "Choose one between 1s and 3s."


@pytest.mark.parametrize(
    ("period", "bucket", "whole"),
    [(300.0, 0.0, 300.0), (300.0, 3600.0, 3600.0), (900.0, 600.0, 1200.0), (3600.0, 60.0, 3600.0), (0.3, 0.1, 0.3)],
)
def test_buckets_are_reserved_for_as_a_whole(period: float, bucket: float, whole: float) -> None:
    assert whole_buckets(period, bucket) == pytest.approx(whole)
