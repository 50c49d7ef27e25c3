"""The archetypes of ETL flows over TPC-H data, and combinations of them (Karagiannis et al. 2013, sections 3 and 7.1).

Each is a function from the folder of the data, with a Parquet file for each table of TPC-H, to a `Flow`. What it writes
has its name in front, so that all of them fit into one warehouse. They are declared in a flow of the user's, if one is
handed in.

They are made for figures and examples, and no other flow belongs here; how they fare is measured in
`spark/experiments`.
"""

from collections.abc import Mapping
from typing import Protocol

from freshtide.flows.archetypes.butterfly import butterfly
from freshtide.flows.archetypes.combined import lines_butterfly, lines_fork, lines_tree
from freshtide.flows.archetypes.single import fork, line, primary_flow, tree, wishbone
from freshtide.flows.builder import Flow


class Archetype(Protocol):
    def __call__(self, data: str, *, into: Flow | None = None) -> Flow: ...


class SelectiveArchetype(Protocol):
    """One that can be made to find dirt in its sources."""

    def __call__(self, data: str, *, selectivity: float = 1.0, into: Flow | None = None) -> Flow: ...


SELECTIVE: Mapping[str, SelectiveArchetype] = {"butterfly": butterfly, "primary_flow": primary_flow}
"""Those of figure 11."""
ARCHETYPES: Mapping[str, Archetype] = {
    "line": line,
    "wishbone": wishbone,
    "primary_flow": primary_flow,
    "tree": tree,
    "fork": fork,
    "butterfly": butterfly,
}
"""Those of figures 8 to 10."""
COMBINATIONS: Mapping[str, Archetype] = {
    "lines_tree": lines_tree,
    "lines_butterfly": lines_butterfly,
    "lines_fork": lines_fork,
}
"""Those of figure 12."""

__all__ = [
    "ARCHETYPES",
    "COMBINATIONS",
    "SELECTIVE",
    "Archetype",
    "SelectiveArchetype",
    "butterfly",
    "fork",
    "line",
    "lines_butterfly",
    "lines_fork",
    "lines_tree",
    "primary_flow",
    "tree",
    "wishbone",
]
