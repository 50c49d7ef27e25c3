"""Creating the demo: new folders are filled, earlier demos replaced, everything else left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.catalog import Catalog, RunLease, lease_folder
from freshtide.demo import DemoError, create_demo
from freshtide.project import load_project


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    create_demo(tmp_path)
    assert load_project(tmp_path).settings.name == "network-operations"


def test_an_earlier_demo_is_replaced_with_its_data(tmp_path: Path) -> None:
    create_demo(tmp_path)
    for name in ("landing/cpu", "warehouse/cpu_readings", ".freshtide"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "old").touch()
    (tmp_path / "tables" / "mine.sql").write_text("broken")
    create_demo(tmp_path)
    assert not list(tmp_path.rglob("old"))
    assert load_project(tmp_path).notes == ()


def test_other_files_beside_a_demo_stay(tmp_path: Path) -> None:
    create_demo(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    create_demo(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_with_anything_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "freshtide.yml").write_text("name: network-operations\n")
    with pytest.raises(DemoError, match="holds no earlier demo") as caught:
        create_demo(tmp_path)
    assert caught.value.way_out == "Choose a new or empty folder."
    assert [path.name for path in tmp_path.iterdir()] == ["freshtide.yml"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")
    with pytest.raises(DemoError, match="is a file"):
        create_demo(tmp_path / "demo")


def test_a_demo_that_is_being_run_is_not_pulled_from_under_it(tmp_path: Path) -> None:
    create_demo(tmp_path)
    catalog = Catalog.open("sqlite://")
    with (
        RunLease(lease_folder(tmp_path / "warehouse"), catalog.seat),
        pytest.raises(DemoError, match="is being run, by process"),
    ):
        create_demo(tmp_path)
    catalog.close()
    create_demo(tmp_path)


def test_data_behind_a_link_is_not_removed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    create_demo(tmp_path / "demo")
    (tmp_path / "demo" / "landing").symlink_to(elsewhere)
    create_demo(tmp_path / "demo")
    assert (elsewhere / "kept").exists()
    assert not (tmp_path / "demo" / "landing").exists()
