"""What no scheduler can do better."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshtide.guarantees import Reserved, unavoidable_staleness


def table(name: str, *sources: str, period: float, execution: float) -> Reserved:
    return Reserved(table=name, period=period, execution=execution, recovery_period=period, sources=sources)


def test_a_base_table_is_a_period_and_an_update_behind() -> None:
    orders = table("orders", period=300.0, execution=10.0)
    assert unavoidable_staleness([orders])["orders"].staleness == pytest.approx(310.0)


def test_how_old_and_how_early_files_come_at_most_makes_nothing_unavoidable() -> None:
    orders = replace(table("orders", period=300.0, execution=10.0), timestamp_jitter=1200.0, arrival_jitter=300.0)
    assert unavoidable_staleness([orders])["orders"].staleness == pytest.approx(310.0)


def test_a_view_adds_its_update_to_the_source_that_is_behind_most() -> None:
    tables = [
        table("view", "orders", "clicks", period=3600.0, execution=5.0),
        table("orders", period=300.0, execution=10.0),
        table("clicks", period=3600.0, execution=2.0),
        table("above", "view", period=3600.0, execution=1.0),
    ]
    found = unavoidable_staleness(tables)
    assert found["view"].staleness == pytest.approx(3607.0)
    assert found["above"].staleness == pytest.approx(3608.0)
    assert {found["view"].base, found["above"].base} == {"clicks"}


def test_a_bucket_that_is_longer_than_the_period_takes_its_place() -> None:
    hourly = replace(table("hourly", "orders", period=300.0, execution=5.0), coarseness=3600.0)
    found = unavoidable_staleness([table("orders", period=300.0, execution=10.0), hourly])
    assert found["hourly"].staleness == pytest.approx(3615.0)


def test_what_a_source_holds_back_is_added() -> None:
    orders = replace(table("orders", period=60.0, execution=1.0), held_back=600.0)
    found = unavoidable_staleness([orders, table("view", "orders", period=60.0, execution=1.0)])
    assert found["orders"].staleness == pytest.approx(61.0)
    assert found["view"].staleness == pytest.approx(662.0)
