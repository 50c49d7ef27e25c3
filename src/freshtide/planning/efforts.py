"""The work of computing tables anew, by what earlier updates took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from freshtide.catalog import Catalog, UpdateRow
from freshtide.core.loads import in_order, weight_of
from freshtide.core.tables import Maintenance, Table
from freshtide.planning.executions import line_through
from freshtide.planning.prediction import WarehouseModel
from freshtide.project import Project

_LOOKED_AT = 200
# Bytes of text in a second, where the loads of a table do not tell: a few times less than was measured
# (docs/performance.md), for machines differ.
_ASSUMED_RATE = 5_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The work of computing a table anew, beyond the fixed cost of an update."""

    table: str
    seconds: float
    known_by: Literal["learnt", "at most", "assumed"]
    """From loads of different sizes or a rebuild; in proportion, from loads of one size; or from nowhere."""
    weights: tuple[int, ...] = ()
    """What the files of a base table weigh, in the order in which they are loaded."""


def efforts_of(project: Project, catalog: Catalog, table: Table, model: WarehouseModel) -> tuple[Effort, ...]:
    """Of the table and of all views that are computed from it, in the order in which they are."""
    found: dict[str, Effort] = {}
    for other in project.graph.values():
        if other.name == table.name:
            found[other.name] = (
                _of_base(other, catalog, model) if other.is_base else _of_view(other, None, catalog, model)
            )
        elif other.name in model.tables and found.keys() & set(other.sources):
            above = max((found[source] for source in other.sources if source in found), key=lambda e: e.seconds)
            found[other.name] = _of_view(other, above, catalog, model)
    return tuple(found.values())


def _of_base(table: Table, catalog: Catalog, model: WarehouseModel) -> Effort:
    """By its last rebuild, or by how long loads took by what they took in.

    Loads of one size do not tell what they cost by themselves from what their files do: a rebuild, which takes many
    files at once, is then assumed to go at some rate, and never to take longer than the loads did together.
    """
    files = in_order(catalog.arrivals.loaded(table.name))
    number_of = catalog.arrivals.loaded_by(table.name)
    taken_in: Counter[int] = Counter()
    for file in files:
        taken_in[number_of[file.id]] += weight_of(file)
    updates = [u for u in reversed(catalog.updates.recent(table.name, _LOOKED_AT)) if u.status == "done" and u.seconds]
    per_byte, known_by = _per_byte(updates, taken_in, model.tables[table.name].alpha)
    weights = tuple(map(weight_of, files))
    return Effort(table=table.name, seconds=per_byte * sum(weights), known_by=known_by, weights=weights)


def _per_byte(
    updates: Sequence[UpdateRow], taken_in: Mapping[int, int], alpha: float
) -> tuple[float, Literal["learnt", "at most", "assumed"]]:
    """Seconds of work by the byte, beyond fixed costs, and how that is known."""
    rebuilt = _last_rebuild(updates, taken_in, alpha)
    if rebuilt is not None:
        return rebuilt, "learnt"
    loads = [
        (float(taken_in[update.number]), update.seconds)
        for update in updates
        if update.kind == "load" and update.seconds and taken_in.get(update.number)
    ]
    if not loads:
        return 1.0 / _ASSUMED_RATE, "assumed"
    _, slope = line_through(loads, [1.0] * len(loads))
    if slope > 0.0:
        return slope, "learnt"
    taken, took = (sum(values) for values in zip(*loads, strict=True))
    in_proportion = took / taken
    return (in_proportion, "at most") if in_proportion * _ASSUMED_RATE <= 1.0 else (1.0 / _ASSUMED_RATE, "assumed")


def _last_rebuild(updates: Sequence[UpdateRow], taken_in: Mapping[int, int], alpha: float) -> float | None:
    """Seconds by the byte of the last rebuild, all parts together without the fixed cost of each; None: of none."""
    found, work = None, 0.0
    for update in updates:
        if update.kind != "rebuild":
            continue
        work += max(0.0, (update.seconds or 0.0) - alpha)
        # The last part brings the rows of all, and all files are its.
        if update.rows:
            # One that is no longer than fixed costs tells nothing.
            found, work = work / taken_in[update.number] if work and taken_in.get(update.number) else None, 0.0
    return found


def _of_view(table: Table, above: Effort | None, catalog: Catalog, model: WarehouseModel) -> Effort:
    """By when it was last computed as a whole, by its learnt slope, or like what it is computed from."""
    known = model.tables[table.name]
    if table.maintain is Maintenance.FULL and not table.may_follow:
        # Each of its updates computes all of it: that is what its cost is.
        return Effort(table=table.name, seconds=0.0, known_by="learnt")
    whole = _last_whole(catalog.updates.recent(table.name, _LOOKED_AT))
    if whole is not None:
        return Effort(table=table.name, seconds=max(0.0, whole - known.alpha), known_by="learnt")
    return Effort(table=table.name, seconds=0.0 if above is None else above.seconds, known_by="assumed")


def _last_whole(updates: Sequence[UpdateRow]) -> float | None:
    """How long it took when all of a view was last computed: in a rebuild, with all of its parts, or at first."""
    found = [
        update
        for update in updates
        if update.status == "done" and (update.kind == "rebuild" or update.from_freshness is None)
    ]
    if not found:
        return None
    # They are told newest first. A part leaves nothing that could be counted: the last one lands all of it.
    parts = takewhile(lambda update: update.rows == 0, found[1:])
    return sum(update.seconds or 0.0 for update in (found[0], *parts))
