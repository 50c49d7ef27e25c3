"""An empty catalog for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.catalog import Catalog
from tests.catalogs import empty_catalog


@pytest.fixture
def url(tmp_path: Path) -> str:
    return empty_catalog(tmp_path / "state")


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    opened = Catalog.open(url)
    yield opened
    opened.close()
