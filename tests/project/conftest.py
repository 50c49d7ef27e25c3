"""Fixtures: folders to write projects into."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folder import CPU_FEED, CPU_TABLE, ProjectFolder
from .ticks import QUOTES, TICKS


@pytest.fixture
def empty(tmp_path: Path) -> ProjectFolder:
    """A project with settings and nothing else."""
    folder = ProjectFolder(tmp_path)
    folder.write("freshtide.yml", "name: network\n")
    return folder


@pytest.fixture
def cpu(empty: ProjectFolder) -> ProjectFolder:
    """A project with the feed `cpu_feed` and the base table `cpu` (time, router, cpu)."""
    empty.write("feeds/cpu_feed.yml", CPU_FEED)
    empty.write("tables/cpu.sql", CPU_TABLE)
    return empty


@pytest.fixture
def ticks(empty: ProjectFolder) -> ProjectFolder:
    """A project with the feed `ticks` (ts, symbol, venue, price)."""
    empty.write("feeds/ticks.yml", TICKS)
    return empty


@pytest.fixture
def quotes(ticks: ProjectFolder) -> ProjectFolder:
    """With the update tables `quotes`, by symbol, and `offers`, by symbol too."""
    ticks.write("tables/quotes.sql", QUOTES)
    ticks.write("tables/offers.sql", QUOTES.replace("quotes", "offers"))
    return ticks
