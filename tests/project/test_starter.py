from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.core.tables import Maintenance
from freshtide.project import StarterError, create_starter, load_project


def test_the_starter_project_loads_without_problems_or_notes(tmp_path: Path) -> None:
    written = create_starter(tmp_path / "shop", "shop")
    project = load_project(tmp_path / "shop")
    assert project.notes == ()
    assert project.settings.name == "shop"
    assert {name: table.maintain for name, table in project.graph.items()} == {
        "orders": Maintenance.APPEND,
        "orders_per_hour": Maintenance.PARTITIONS,
        "large_orders": Maintenance.APPEND,
        "customers": Maintenance.FULL,
    }
    assert all(path.is_file() for path in written)


def test_the_starter_project_brings_data_for_its_feed(tmp_path: Path) -> None:
    create_starter(tmp_path, "shop")
    feed = load_project(tmp_path).feeds["orders_feed"]
    files = sorted(tmp_path.glob(feed.folder.path))
    assert len(files) == 3
    for file in files:
        assert file.read_text(encoding="utf-8").splitlines()[0].split(",") == list(feed.column_names)


@pytest.mark.parametrize("name", ["my shop", "it's: #1", "läden"])
def test_a_name_may_hold_anything(tmp_path: Path, name: str) -> None:
    create_starter(tmp_path, name)
    assert load_project(tmp_path).settings.name == name


def test_nothing_that_exists_is_overwritten(tmp_path: Path) -> None:
    create_starter(tmp_path, "shop")
    with pytest.raises(StarterError, match="is a Freshtide project already"):
        create_starter(tmp_path, "other")
    (tmp_path / "freshtide.yml").unlink()
    with pytest.raises(StarterError, match=r"feeds/orders_feed\.yml exists already"):
        create_starter(tmp_path, "other")


def test_a_fresh_repository_keeps_its_own_files(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    written = create_starter(tmp_path, "shop")
    assert (tmp_path / "README.md").read_text() == "mine"
    assert tmp_path / "README.md" not in written
    assert load_project(tmp_path).settings.name == "shop"
