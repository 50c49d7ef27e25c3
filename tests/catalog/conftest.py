"""A catalog for each test: SQLite, or the database that FRESHTIDE_TEST_CATALOG names (it is emptied!)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from freshtide.catalog import Catalog
from freshtide.catalog.schema import metadata


@pytest.fixture
def url(tmp_path: Path) -> str:
    given = os.environ.get("FRESHTIDE_TEST_CATALOG")
    if given is None:
        return f"sqlite:///{tmp_path / 'state' / 'catalog.db'}"
    engine = create_engine(given)
    metadata.drop_all(engine)
    engine.dispose()
    return given


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    opened = Catalog.open(url)
    yield opened
    opened.close()
