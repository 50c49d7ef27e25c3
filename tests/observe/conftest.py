"""A small project on disk, and a catalog beside it that the tests fill through its own methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .shop import Shop, write_project


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop.open(write_project(tmp_path))
    yield opened
    opened.close()
