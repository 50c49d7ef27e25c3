"""What is done about what is lost or outgrown: the table is computed anew, where that can be done."""

from __future__ import annotations

from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.core.errors import FreshtideError
from freshtide.core.graph import TableGraph
from freshtide.runs import Loss, require_files
from freshtide.world import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Mending:
    """What to say of it, and the table to compute anew, if one can be."""

    told: str
    table: str | None
    before_loads: bool = False
    """Whether nothing can be loaded into it before that is done."""


def mending_of(loss: Loss, graph: TableGraph, catalog: Catalog, disk: Disk) -> Mending:
    """How a loss is mended.

    A table is not put at risk for what belongs to it: where it is whole, and its files are not, it goes on as it is.
    """
    holding, has_lost = loss.holding, loss.told
    if holding.table is None:
        way_out = f"`freshtide flow run {holding.flow}` writes it once more"
        return Mending(told=f"{has_lost}. Put it back from a backup; {way_out}, from what there is now.", table=None)
    if holding.is_own:
        return Mending(told=f"{has_lost}, and is computed anew.", table=holding.table)
    try:
        require_files(disk, graph[holding.table], catalog.arrivals.loaded(holding.table))
    except FreshtideError as error:
        way_out = f"Then `freshtide backfill {holding.table}` makes it anew."
        return Mending(told=f"{has_lost}. {error} {way_out}", table=None)
    return Mending(told=f"{has_lost}, and is made anew with '{holding.table}'.", table=holding.table)


def outgrown_mending(table: str, reason: str, graph: TableGraph, catalog: Catalog, disk: Disk) -> Mending:
    """How a base table goes on to which no row can be added as it is: it is loaded anew, if its files are there."""
    try:
        require_files(disk, graph[table], catalog.arrivals.loaded(table))
    except FreshtideError as error:
        return Mending(
            told=f"{reason} {error} Until then, or until that is taken back, it cannot be loaded.", table=None
        )
    return Mending(told=f"{reason} It is loaded anew from its files.", table=table, before_loads=True)
