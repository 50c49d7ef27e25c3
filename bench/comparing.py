"""What was predicted of tables, beside what was then observed of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from freshtide.catalog import Catalog
from freshtide.core.staleness import StalenessCurve
from freshtide.planning import WarehouseModel, executions, predict
from freshtide.project import Settings

# Whether two tables that are nearly equally stale are told apart is chance.
_DISTINCT = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The mean staleness of a table over the time that was predicted."""

    table: str
    predicted: float
    knowing: float
    """What is predicted if it is known what updates are going to take: what is off then is the model's fault, or chance
    in what arrives."""
    observed: float

    @property
    def deviation(self) -> float:
        """Below 0 where the table was taken to be fresher than it was."""
        return self.predicted / self.observed - 1.0

    @property
    def error(self) -> float:
        return abs(self.deviation)

    @property
    def error_knowing(self) -> float:
        return abs(self.knowing / self.observed - 1.0)


def compared(
    model: WarehouseModel, catalog: Catalog, settings: Settings, *, since: float, until: float
) -> list[Compared]:
    """A model of how a project stood at a moment, held against what became of it up to another."""
    knowing = model.with_executions(executions(catalog, since=since))
    predicted, known = (_means(told, settings, until - since) for told in (model, knowing))
    return [
        Compared(table=name, predicted=predicted[name], knowing=known[name], observed=mean)
        for name, mean in _observed(model, catalog, since, until).items()
    ]


def median_error(every: Iterable[Compared]) -> float:
    return median(each.error for each in every)


def ranking(every: Sequence[Compared]) -> float:
    """Of the pairs of tables that were not nearly equally stale, the share whose order was predicted."""
    pairs = [
        (one, other)
        for one, other in combinations(every, 2)
        if abs(one.observed - other.observed) > _DISTINCT * max(one.observed, other.observed)
    ]
    right = sum((a.predicted < b.predicted) == (a.observed < b.observed) for a, b in pairs)
    return right / len(pairs) if pairs else 1.0


def _means(model: WarehouseModel, settings: Settings, horizon: float) -> dict[str, float]:
    result = predict(model, settings.policy, tracks=settings.tracks, horizon=horizon).result
    assert result is not None
    return {name: curve.mean for name, curve in result.staleness.items()}


def _observed(model: WarehouseModel, catalog: Catalog, since: float, until: float) -> dict[str, float]:
    """Of the tables that had been loaded before."""
    curves = {
        name: StalenessCurve(since=since, freshness=since + table.standing.freshness)
        for name, table in model.tables.items()
        if table.standing.freshness is not None
    }
    for update in catalog.updates.done_since(since):
        ended = update.finished_at
        if update.table in curves and update.freshness is not None and ended is not None and ended <= until:
            curves[update.table].refreshed(ended, update.freshness)
    for curve in curves.values():
        curve.advance(until)
    return {name: curve.mean for name, curve in curves.items()}
