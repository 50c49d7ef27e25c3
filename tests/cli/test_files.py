"""Files that a table waits for, from another terminal while nothing runs."""

from __future__ import annotations

from pathlib import Path

from freshtide.catalog import Catalog
from freshtide.core.arrivals import ArrivalState
from freshtide.feeds import admit
from freshtide.project import create_starter, load_project
from freshtide.runs import Places
from tests.feeds.samples import settled

from .scenarios import Terminal


def test_a_file_that_is_away_is_named_everywhere_and_can_be_skipped(terminal: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    create_starter(folder, "shop")
    project = load_project(folder)
    path = folder / "landing" / "orders" / "away.csv"
    path.write_text("order_id,ordered_at,customer,amount\n99,2026-05-01T11:00:00Z,zoe,5.00\n")
    catalog = Catalog.open(Places(project).catalog_url)
    file = admit(project.feeds["orders_feed"], settled(path), catalog.arrivals, 1.0)
    assert file is not None
    catalog.arrivals.register_all([(file, ("orders",))])
    catalog.arrivals.note_standing([1], ArrivalState.AWAY, "Its tables wait for it.")
    catalog.close()
    at = ("-p", str(folder))
    assert f"'orders' waits for {path}, which is away" in terminal.type("status", *at).out
    assert f"{path} is away" in terminal.type("feeds", *at).out
    assert f"'orders' waits for {path}, which is away" in terminal.type("explain", "orders", *at).out
    assert "is skipped" in terminal.type("feeds", "skip", "away.csv", *at).out
    assert "which is away" not in terminal.type("status", *at).out
