"""The example project of ETL flows."""

from __future__ import annotations

from pathlib import Path

from freshtide.flows.archetypes import ARCHETYPES, COMBINATIONS, butterfly
from freshtide.project import load_project

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch"


def test_it_declares_every_archetype() -> None:
    assert load_project(EXAMPLE).flows.keys() == {*ARCHETYPES, *COMBINATIONS}


def test_the_butterfly_in_yaml_is_the_one_in_python() -> None:
    written = load_project(EXAMPLE).flows["butterfly"]
    built = butterfly("data").graph()
    assert list(written.nodes) == list(built.nodes)
    assert {node.name: (node.activity, node.inputs) for node in written} == {
        node.name: (node.activity, node.inputs) for node in built
    }
