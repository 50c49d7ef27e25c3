"""`freshtide status`: what the tables add up to, and for how much of the last hour they were within their targets."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.cli.output import console, percent, print_json
from tests.observe.shop import NOON, Shop, write_project

from .scenarios import Terminal


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[Shop]:
    """Two hours of orders every 5 minutes until just now, clicks of half an hour, and sales that stand still."""
    shop = Shop.open(write_project(tmp_path / "shop"))
    now = time.time() - NOON
    for ago in range(7_200, 0, -300):
        update = shop.runs("orders", since=now - ago - 1.0, from_freshness=NOON + now - ago - 300.0)
        shop.catalog.updates.finish(update, at=NOON + now - ago, freshness=NOON + now - ago, rows=1)
    shop.is_fresh("orders", now - 300.0)
    update = shop.runs("clicks", since=now - 1_801.0)
    shop.catalog.updates.finish(update, at=NOON + now - 1_800.0, freshness=NOON + now - 1_800.0, rows=1)
    shop.is_fresh("clicks", now - 1_800.0)
    shop.is_fresh("sales", now - 30 * 86_400.0)
    yield shop
    shop.close()


def test_how_much_of_the_hour_was_within_targets_is_told_in_80_columns(
    terminal: Terminal, lived: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_width", 80)
    told = terminal.type("status", "-p", str(lived.project.root)).out.splitlines()
    assert all(len(line) <= 80 for line in told), told
    rows = {line.split()[0]: line.split() for line in told}
    within = rows["Table"].index("Within")
    # Stale and Target may be of two words.
    assert "100%" in rows["orders"]
    assert "0%" in rows["sales"]
    assert "100%" not in rows["clicks"], "it has no target"
    assert within == rows["Table"].index("Target") + 1
    text = "\n".join(told)
    assert "Weighted staleness: " in text
    assert "on average over the last hour." in text
    assert "Within: how much of the last hour was within the target lag, run or no run." in text


def test_programs_get_the_objective_now_and_over_the_last_hour(terminal: Terminal, lived: Shop) -> None:
    found = terminal.type("status", "-p", str(lived.project.root), "--json").json
    month = 30 * 86_400.0
    now, hour = found["objective"]["now"], found["objective"]["last_hour"]
    # The commands take some time, in which all grow staler: less than a minute each.
    assert now["weighted_staleness"] == pytest.approx(5 * 300.0 + 1_800.0 + month, abs=7 * 60.0)
    assert now["weighted_lateness"] == pytest.approx(month - 3_600.0, abs=60.0)
    assert hour["seconds"] == pytest.approx(3_600.0)
    assert hour["weighted_staleness"] == pytest.approx(5 * 150.0 + 900.0 / 2 + month - 1_800.0, abs=7 * 60.0)
    shares = {table["name"]: table["last_hour"] for table in found["tables"]}
    assert shares["orders"]["share_within_target"] == 1.0
    assert shares["sales"]["share_within_target"] == 0.0
    assert shares["clicks"]["seconds"] == pytest.approx(1_800.0, abs=60.0)


def test_a_table_that_has_not_had_data_for_an_hour_tells_how_long(terminal: Terminal, tmp_path: Path) -> None:
    shop = Shop.open(write_project(tmp_path / "shop"))
    now = time.time() - NOON
    update = shop.runs("orders", since=now - 7_000.0)
    shop.catalog.updates.finish(update, at=NOON + now - 1_200.0, freshness=NOON + now - 1_200.0, rows=1)
    shop.is_fresh("orders", now - 1_200.0)
    shop.close()
    told = terminal.type("status", "-p", str(tmp_path / "shop")).out
    (row,) = [line for line in told.splitlines() if line.startswith("orders")]
    assert "% of 20m" in row
    assert "on average over the last 20m" in told


def test_all_and_nothing_are_said_of_nothing_less() -> None:
    shares = (1.0, 0.99999, 0.5, 0.0012, 0.0000001, 0.0)
    assert [percent(share) for share in shares] == ["100%", "99.9%", "50.0%", "0.1%", "<0.1%", "0%"]


def test_programs_are_never_told_numbers_that_json_has_none_for(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"bound": math.inf, "mean": [math.nan, -math.inf, 1.5], "rows": ({"x": math.inf},)})

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found == {"bound": None, "mean": [None, None, 1.5], "rows": [{"x": None}]}
