"""Which scheduler on how many tracks: the fewest that keep every target lag, or what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.core.durations import format_duration
from freshtide.planning.prediction import Prediction, TableModel, WarehouseModel
from freshtide.simulation import Result, without_contention


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """A table whose target lag none of the predictions keeps."""

    table: str
    target_lag: float
    least: float
    """The smallest maximum that any of them promises."""
    why: str

    def as_json(self) -> dict[str, Any]:
        return {"table": self.table, "target_lag": self.target_lag, "least": self.least, "why": self.why}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The best of the predictions, and whether it keeps everything."""

    best: Prediction
    obstacles: tuple[Obstacle, ...]
    sentences: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "scheduler": self.best.scheduler,
            "tracks": self.best.tracks,
            "keeps_all": self.best.keeps_all,
            "broken": list(self.best.broken),
            "obstacles": [obstacle.as_json() for obstacle in self.obstacles],
            "sentences": list(self.sentences),
        }


def recommend(
    model: WarehouseModel, predictions: Sequence[Prediction], *, horizon: float, seed: int
) -> Recommendation | None:
    """The fewest tracks that keep every target lag, with what is freshest there; None if nothing can work at all."""
    possible = [prediction for prediction in predictions if prediction.result is not None]
    if not possible:
        return None
    if not any(table.target_lag is not None for table in model.tables.values()):
        best = min(possible, key=_weighted)
        told = f"No table has a target lag. The tables are freshest with {_named(best)}."
        return Recommendation(best=best, obstacles=(), sentences=(told,))
    best = min(possible, key=lambda p: (len(p.broken), p.tracks, _weighted(p)))
    if best.keeps_all:
        told = f"Every target lag is kept with {_named(best)}."
        return Recommendation(best=best, obstacles=(), sentences=(told,))
    unhindered = model.workload(horizon=horizon, seed=seed, factor=model.contention.factor(1.0))
    alone = without_contention(unhindered).run(horizon=horizon)
    obstacles = tuple(_obstacles(model, possible, alone))
    return Recommendation(best=best, obstacles=obstacles, sentences=tuple(_regrets(best, obstacles)))


def _weighted(prediction: Prediction) -> float:
    assert prediction.result is not None
    return prediction.result.weighted_staleness


def _maximum(prediction: Prediction, table: str) -> float:
    assert prediction.result is not None
    return prediction.result.staleness[table].maximum


def _regrets(best: Prediction, obstacles: Sequence[Obstacle]) -> list[str]:
    told = [
        f"None of these keeps '{obstacle.table}' within {format_duration(obstacle.target_lag)}: {obstacle.why}"
        for obstacle in obstacles
    ]
    if not obstacles:
        told.append("Each target lag is kept by one of these, but none keeps all.")
    broken = ", ".join(f"'{table}'" for table in best.broken)
    told.append(f"Fewest are broken with {_named(best)}: {broken} would be staler than wanted at times.")
    return told


def _named(prediction: Prediction) -> str:
    return f"{prediction.scheduler} on {prediction.tracks} track{'s' if prediction.tracks > 1 else ''}"


def _obstacles(model: WarehouseModel, possible: Sequence[Prediction], alone: Result) -> list[Obstacle]:
    found = []
    for table in model.tables.values():
        if table.target_lag is None:
            continue
        least = min(_maximum(prediction, table.name) for prediction in possible)
        if least > table.target_lag:
            why = _why(model, table, table.target_lag, least, alone)
            found.append(Obstacle(table=table.name, target_lag=table.target_lag, least=least, why=why))
    return found


def _why(model: WarehouseModel, table: TableModel, target_lag: float, least: float, alone: Result) -> str:
    unhindered = alone.staleness[table.name].maximum
    if unhindered <= target_lag:
        return (
            f"it gets up to {format_duration(least)} stale, {format_duration(unhindered)} if no update had to wait. "
            "Try more tracks, give it a higher priority, or make updates cheaper."
        )
    reached = f"it gets up to {format_duration(unhindered)} stale even if no update has to wait"
    source = max(table.sources, key=lambda name: alone.staleness[name].maximum, default=None)
    if source is not None and alone.staleness[source].maximum > target_lag:
        held_up = format_duration(alone.staleness[source].maximum)
        return f"{reached}, because its source '{source}' gets up to {held_up} stale."
    base = _slowest_base(model, table)
    pattern = base.pattern
    assert pattern is not None
    data = f"'{base.name}' gets data every {format_duration(pattern.period)}, {format_duration(pattern.delay)} old"
    if base.lateness and base is not table:
        data += f" and not final for another {format_duration(base.lateness)}"
    takes = format_duration(table.alpha + table.beta * pattern.period)
    return f"{reached}, because {data}, and an update takes {takes}."


def _slowest_base(model: WarehouseModel, table: TableModel) -> TableModel:
    """The base table beneath it, or itself, that moves on most seldom."""
    bases, front = [], [table]
    while front:
        found = front.pop()
        front += [model.tables[source] for source in found.sources]
        if found.pattern is not None:
            bases.append((found.pattern.period + found.lateness, found))
    return max(bases, key=lambda pair: pair[0])[1]
