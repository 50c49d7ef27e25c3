"""Fixtures: a terminal to type at."""

from __future__ import annotations

from pathlib import Path

import pytest

from .scenarios import Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)
