"""Fixtures: a terminal to type at."""

from __future__ import annotations

from pathlib import Path

import pytest

from .scenarios import Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Terminal:
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal(monkeypatch, capsys, tmp_path)
