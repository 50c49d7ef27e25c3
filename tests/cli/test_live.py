"""What a run prints of itself while it goes on."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from freshtide.cli import live
from freshtide.core.errors import SurroundingsError
from freshtide.observe import WarehouseStatus
from freshtide.warehouse import Warehouse


class Away:
    """A warehouse whose catalog does not answer at first."""

    def __init__(self) -> None:
        self.asked = 0

    def status(self) -> WarehouseStatus:
        self.asked += 1
        if self.asked == 1:
            raise SurroundingsError("The catalog does not answer.")
        return WarehouseStatus(name="shop", at=0.0, tables=(), feeds=())


def test_lines_go_on_after_a_catalog_that_did_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "_REPORT_EVERY", 0.01)
    warehouse = Away()
    ending = threading.Event()
    with live._View(cast(Warehouse, warehouse), 0.0, ending, quiet=False):
        while warehouse.asked < 3:
            ending.wait(0.01)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "How the tables stand cannot be told now: The catalog does not answer."
    assert told[1].startswith("0 updates so far")
