"""Target lags against what is declared about the feeds that tables are made from."""

from __future__ import annotations

import pytest

from .folder import CPU_FEED, ProjectFolder

LATE_FEED = f"{CPU_FEED}lateness: 10m\n"
HOURLY = "SELECT date_trunc('hour', time) AS hour, avg(cpu) AS cpu FROM cpu GROUP BY date_trunc('hour', time)"


def busy(folder: ProjectFolder, properties: str, select: str = "SELECT * FROM cpu WHERE cpu > 90") -> None:
    folder.write("tables/busy.sql", f"CREATE MATERIALIZED VIEW busy TBLPROPERTIES ({properties}) AS {select};")


def note(folder: ProjectFolder) -> str:
    (found,) = folder.load().notes
    return str(found)


def test_a_target_shorter_than_the_period_is_noted_with_the_time_that_it_can_be_kept(cpu: ProjectFolder) -> None:
    busy(cpu, "'target_lag' = '1m'")
    assert note(cpu) == (
        "tables/busy.sql:1: 'busy' has a target lag of 1m, but its data moves every 5m: it can be within its target "
        "for 20 % of the time at most. Declare a target_lag of more than 5m, or a period as short as data really comes "
        "in."
    )


def test_a_base_table_is_held_against_its_feed_as_well(cpu: ProjectFolder) -> None:
    text = "CREATE STREAMING TABLE cpu TBLPROPERTIES ('target_lag' = '2m 30s') AS SELECT * FROM STREAM cpu_feed;"
    cpu.write("tables/cpu.sql", text)
    assert "for 50 % of the time at most" in note(cpu)


@pytest.mark.parametrize("target", ["5m", "1h"])
def test_a_target_of_a_period_or_more_is_not_noted(cpu: ProjectFolder, target: str) -> None:
    busy(cpu, f"'target_lag' = '{target}'")
    assert cpu.load().notes == ()


def test_a_shorter_period_of_ones_own_does_not_make_the_feed_faster(cpu: ProjectFolder) -> None:
    busy(cpu, "'target_lag' = '1m', 'period' = '30s'")
    assert "its data moves every 5m" in note(cpu)


def test_buckets_that_have_to_close_are_what_moves_a_view(cpu: ProjectFolder) -> None:
    busy(cpu, "'target_lag' = '30m', 'emit' = 'closed'", HOURLY)
    assert "its data moves every 1h: it can be within its target for 50 % of the time at most" in note(cpu)
    busy(cpu, "'target_lag' = '30m'", HOURLY)
    assert cpu.load().notes == (), "open buckets are shown as they are"


def test_rows_that_may_still_come_keep_a_view_behind(cpu: ProjectFolder) -> None:
    cpu.write("feeds/cpu_feed.yml", LATE_FEED)
    busy(cpu, "'target_lag' = '11m'")
    assert "every 5m and it stays 10m behind: it can be within its target for 20 % of the time at most" in note(cpu)
    busy(cpu, "'target_lag' = '15m'")
    assert cpu.load().notes == ()


def test_a_target_that_no_moment_can_keep_is_refused(cpu: ProjectFolder) -> None:
    cpu.write("feeds/cpu_feed.yml", LATE_FEED)
    busy(cpu, "'target_lag' = '10m'")
    assert cpu.problem() == (
        "tables/busy.sql:1: 'busy' can never be within its target lag of 10m: rows of 'cpu_feed' may come 10m late, "
        "and views wait for them. Declare a target_lag of more than 15m, or a shorter lateness in 'cpu_feed'."
    )
    cpu.write("tables/calm.sql", "CREATE MATERIALIZED VIEW calm AS SELECT * FROM busy;")
    assert len(cpu.problems()) == 1, "of the table that asks for it"


def test_the_base_table_itself_waits_for_nobody(cpu: ProjectFolder) -> None:
    cpu.write("feeds/cpu_feed.yml", LATE_FEED)
    text = "CREATE STREAMING TABLE cpu TBLPROPERTIES ('target_lag' = '6m') AS SELECT * FROM STREAM cpu_feed;"
    cpu.write("tables/cpu.sql", text)
    assert cpu.load().notes == ()


def test_a_view_of_a_view_waits_for_the_same_rows(cpu: ProjectFolder) -> None:
    cpu.write("feeds/cpu_feed.yml", LATE_FEED)
    busy(cpu, "'priority' = '1'")
    cpu.write(
        "tables/calm.sql", "CREATE MATERIALIZED VIEW calm TBLPROPERTIES ('target_lag' = '9m') AS SELECT * FROM busy;"
    )
    assert "rows of 'cpu_feed' may come 10m late" in cpu.problem()


def test_targets_of_update_tables_are_about_waiting_and_not_about_periods(cpu: ProjectFolder) -> None:
    cpu.write(
        "tables/cpu.sql",
        "CREATE STREAMING TABLE cpu TBLPROPERTIES ('update_key' = 'router', 'target_lag' = '10s') "
        "AS SELECT * FROM STREAM cpu_feed;",
    )
    assert cpu.load().notes == ()
