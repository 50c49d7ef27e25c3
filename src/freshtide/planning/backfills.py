"""Before a backfill: how long it takes and whom it costs, by the same scheduler in virtual time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from freshtide.catalog import Catalog
from freshtide.core.cuts import Cuts
from freshtide.core.durations import format_duration
from freshtide.core.errors import UsageError
from freshtide.core.graph import TableGraph
from freshtide.core.pieces import LONGEST_PIECE
from freshtide.core.tables import Table
from freshtide.planning.efforts import Effort, efforts_of
from freshtide.planning.prediction import Prediction, WarehouseModel, predict
from freshtide.project import Project
from freshtide.scheduling import Policy
from freshtide.simulation import Rebuild

# A backfill is followed for as long as its work takes on one track, so many times over.
_PATIENCE = 4.0
_MOST_DOUBLINGS = 4
# Staler by less than this says more about chance than about the backfill.
_NOTED = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How stale a table gets at worst without the backfill and with it."""

    table: str
    without: float
    beside: float
    target_lag: float | None

    @property
    def is_noted(self) -> bool:
        return self.beside > self.without * (1.0 + _NOTED)

    @property
    def breaks_target(self) -> bool:
        return self.target_lag is not None and self.without <= self.target_lag < self.beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight:
    """What a backfill comes to."""

    table: str
    efforts: tuple[Effort, ...]
    """Of the table, then of the views that are computed anew after it."""
    in_parts: bool
    why_not: str | None
    """Why it is not cut, where it is not."""
    parts: int
    took: float | None
    """Until the table itself is there; None: longer than was looked at."""
    whole: float | None
    """Until all that depends on it is, too."""
    horizon: float
    costs: tuple[Cost, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(self._told())

    def _told(self) -> list[str]:
        own, *views = self.efforts
        work = f"{format_duration(_rounded(own.seconds))} of work"
        if self.took is None:
            told = [f"'{self.table}' is not rebuilt within {format_duration(_rounded(self.horizon))}: {work}."]
        else:
            cut = f"in {self.parts} parts" if self.in_parts and self.parts > 1 else "in one update"
            told = [f"'{self.table}' is rebuilt {cut} within {format_duration(_rounded(self.took))}: {work}."]
        if self.why_not is not None:
            told.append(f"It is not cut: {self.why_not}.")
        if views:
            names = ", ".join(f"'{view.table}' ({format_duration(_rounded(view.seconds))} of work)" for view in views)
            when = "" if self.whole is None else f", all within {format_duration(_rounded(self.whole))}"
            told.append(f"After it{when}: {names}.")
        noted = [cost for cost in self.costs if cost.is_noted]
        for cost in noted:
            stale = f"{format_duration(_rounded(cost.beside))} instead of {format_duration(_rounded(cost.without))}"
            lag = "" if cost.target_lag is None else format_duration(cost.target_lag)
            missed = f", and misses its target of {lag}" if cost.breaks_target else ""
            told.append(f"It costs '{cost.table}': it gets {stale} stale at worst{missed}.")
        if not noted:
            told.append("No table gets staler for it.")
        for known_by, why in _DOUBTS.items():
            doubted = [f"'{effort.table}'" for effort in self.efforts if effort.known_by == known_by]
            if doubted:
                told.append(f"{why} {', '.join(doubted)}.")
        return told

    def as_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "work": {effort.table: {"seconds": effort.seconds, "known_by": effort.known_by} for effort in self.efforts},
            "in_parts": self.in_parts,
            "why_not": self.why_not,
            "parts": self.parts,
            "took": self.took,
            "whole": self.whole,
            "horizon": self.horizon,
            "costs": {
                cost.table: {
                    "max_without": cost.without,
                    "max_with": cost.beside,
                    "target_lag": cost.target_lag,
                    "breaks_target": cost.breaks_target,
                }
                for cost in self.costs
            },
        }


_DOUBTS = {
    "at most": "That is at most, in proportion to loads of one size, for",
    "assumed": "That is assumed, for what is known of updates does not tell the work, for",
}


def foresee(
    project: Project,
    catalog: Catalog,
    name: str,
    *,
    model: WarehouseModel,
    policy: Policy,
    tracks: int,
    seed: int = 0,
) -> Foresight:
    """What a backfill of a table would take that is asked for at once, and what it would do to the others."""
    table = project.graph[name]
    if name not in model.tables:
        raise UsageError(
            f"The backfill of '{name}' cannot be foreseen: update tables, and what is paused or has failed, are not "
            "simulated."
        )
    efforts = efforts_of(project, catalog, table, model)
    why_not = _why_not_cut(table, project.graph)
    own, *views = efforts
    rebuild = Rebuild(
        table=name,
        seconds=own.seconds,
        longest=LONGEST_PIECE if why_not is None else None,
        weights=own.weights if why_not is None else (),
        dependents={view.table: view.seconds for view in views},
    )
    horizon = max(model.horizon, _PATIENCE * sum(effort.seconds for effort in efforts))
    for _ in range(_MOST_DOUBLINGS):
        beside = predict(replace(model, rebuilds=(rebuild,)), policy, tracks=tracks, horizon=horizon, seed=seed)
        if beside.result is None or name in beside.result.rebuilt:
            break
        horizon *= 2.0
    if beside.result is None:
        raise UsageError(
            f"Nothing can be foreseen: {beside.shortage.reason if beside.shortage else 'no track is free'}."
        )
    rebuilt = beside.result.rebuilt
    waited_for = [effort.table for effort in efforts]
    return Foresight(
        table=name,
        efforts=efforts,
        in_parts=why_not is None,
        why_not=why_not,
        parts=beside.result.parts.get(name, 0),
        took=rebuilt.get(name),
        whole=max(rebuilt[other] for other in waited_for) if all(other in rebuilt for other in waited_for) else None,
        horizon=horizon,
        costs=_costs(predict(model, policy, tracks=tracks, horizon=horizon, seed=seed), beside),
    )


def _costs(without: Prediction, beside: Prediction) -> tuple[Cost, ...]:
    assert without.result is not None
    assert beside.result is not None
    before, after = without.result.staleness, beside.result.staleness
    return tuple(
        Cost(
            table=table.name,
            without=before[table.name].maximum,
            beside=after[table.name].maximum,
            target_lag=table.target_lag,
        )
        for table in beside.result.tables
    )


def _why_not_cut(table: Table, graph: TableGraph) -> str | None:
    if not table.is_base and not Cuts(graph).goes_by_spans(table.name):
        return "no part of it could be computed without the rest"
    if table.flow is not None:
        return "a flow loads it"
    return "it is in an update group" if graph.units.is_group(graph.units.of(table.name)) else None


def _rounded(seconds: float) -> float:
    """To what anybody wants to know."""
    return round(seconds) if seconds >= 10.0 else round(seconds, 1)
