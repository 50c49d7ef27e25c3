"""The contract that packages are imported by their faces."""

from __future__ import annotations

from typing import Any

import pytest
from grimp import ImportGraph
from importlinter import ContractCheck
from tools.faces import DeepImport, FacesContract

MODULES = (
    "house",
    "house.clock",
    "house.kitchen",
    "house.kitchen.oven",
    "house.kitchen.larder",
    "house.kitchen.larder.shelves",
    "house.hall",
    "house.hall.door",
)


def check(importer: str, imported: str, **options: Any) -> ContractCheck:
    graph = ImportGraph()
    for module in MODULES:
        graph.add_module(module)
    graph.add_module("outside", is_squashed=True)
    graph.add_import(importer=importer, imported=imported, line_number=7, line_contents="import it")
    contract = FacesContract(name="Faces", session_options={}, contract_options={"root": "house", **options})
    return contract.check(graph, verbose=False)


@pytest.mark.parametrize("imported", ["house.kitchen", "house.kitchen.larder", "house.clock", "outside"])
def test_packages_and_subpackages_and_modules_of_no_package_are_faces(imported: str) -> None:
    assert check("house.hall.door", imported).kept


@pytest.mark.parametrize("imported", ["house.kitchen.oven", "house.kitchen.larder.shelves"])
def test_a_module_behind_a_face_is_told_with_file_and_line(imported: str) -> None:
    told = check("house.hall.door", imported)
    assert not told.kept
    assert told.metadata["found"] == [DeepImport(file="house/hall/door.py", line=7, imported=imported)]
    assert told.metadata["found"][0].face == imported.rpartition(".")[0]


def test_a_face_that_imports_behind_another_is_told_by_its_own_file() -> None:
    assert check("house.hall", "house.kitchen.oven").metadata["found"][0].file == "house/hall/__init__.py"


@pytest.mark.parametrize("importer", ["house.kitchen", "house.kitchen.larder.shelves"])
def test_at_home_everybody_goes_everywhere(importer: str) -> None:
    assert check(importer, "house.kitchen.oven").kept


@pytest.mark.parametrize("opened", ["house.kitchen", "house.kitchen.larder"])
def test_of_an_open_package_all_modules_are_faces(opened: str) -> None:
    assert not check("house.hall.door", "house.kitchen.larder.shelves").kept
    assert check("house.hall.door", "house.kitchen.larder.shelves", open_packages=[opened]).kept
    assert not check("house.kitchen.oven", "house.hall.door", open_packages=[opened]).kept
