"""A project in virtual time: its own tables, with the costs and the arrivals that its catalog remembers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from freshtide.catalog import Catalog, TableRow
from freshtide.core.costs import Cost, CostModel
from freshtide.core.cuts import Cuts
from freshtide.core.errors import UnknownTableError
from freshtide.core.instants import micros, seconds
from freshtide.planning.contention import Contention, learnt_contention, mean_at_once
from freshtide.planning.executions import Execution, executions
from freshtide.planning.standing import starts
from freshtide.project import Project
from freshtide.runs import ArrivalPattern, arrival_pattern
from freshtide.scheduling import Policy, Shortage
from freshtide.simulation import (
    CompletedUpdate,
    Lateness,
    Rebuild,
    Result,
    SimulatedTable,
    Simulation,
    Standing,
    Stream,
    Workload,
)

_PERIODS = 30
_MOST_FILES = 20_000
_MOST_ROUNDS = 5
_SETTLED = 0.02
_FRESH = Standing()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableModel:
    """What the simulation is told of a table."""

    name: str
    sources: tuple[str, ...]
    priority: float
    target_lag: float | None
    period: float | None
    alpha: float
    beta: float
    known_by: Literal["learnt", "given", "assumed"]
    """Where the costs come from: the table's own updates, the user, or nowhere."""
    lateness: float = 0.0
    pattern: ArrivalPattern | None = None
    """Of a base table's files."""
    factors: tuple[float, ...] = ()
    """By which its updates took longer or shorter than expected."""
    standing: Standing = _FRESH
    believed: Cost | None = None
    """What the scheduler has learnt, where it goes on learning; None where it is given the costs."""

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"alpha": self.alpha, "beta": self.beta, "cost": self.known_by}
        if self.pattern is not None:
            shown["arrivals"] = {
                "period": self.pattern.period,
                "delay": self.pattern.delay,
                "learnt": self.pattern.learnt,
            }
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseModel:
    """The tables that take part in a run, and what the machine does to their updates."""

    tables: Mapping[str, TableModel]
    left_out: tuple[str, ...]
    """Paused and failed tables, and what depends on them."""
    update_streams: tuple[str, ...]
    """Update tables and views of them, which are left out too: their staleness is not that of the others."""
    contention: Contention
    cuts: Cuts
    since: float
    """The instant that virtual time begins at."""
    rebuilds: tuple[Rebuild, ...] = ()
    """What is to be computed anew meanwhile."""

    def with_cost(self, name: str, alpha: float, beta: float) -> WarehouseModel:
        """The same with a table that costs what the user says."""
        if name not in self.tables:
            raise UnknownTableError(name, known=self.tables)
        told = replace(self.tables[name], alpha=alpha, beta=beta, known_by="given", factors=(), believed=None)
        return replace(self, tables={**self.tables, name: told})

    def with_executions(self, known: Mapping[str, Execution]) -> WarehouseModel:
        """The same with tables whose updates take what is said of them."""
        told = {
            name: replace(table, alpha=known[name].alpha, beta=known[name].beta, factors=known[name].factors)
            for name, table in self.tables.items()
            if name in known
        }
        return replace(self, tables={**self.tables, **told})

    @property
    def horizon(self) -> float:
        """Long enough for the slowest feed to count, and short enough to be worth waiting for."""
        periods = [table.pattern.period for table in self.tables.values() if table.pattern is not None]
        slowest, rate = max(periods), sum(1.0 / period for period in periods)
        return max(2.0 * slowest, min(_PERIODS * slowest, _MOST_FILES / rate))

    def workload(self, *, horizon: float, seed: int, factor: float) -> Workload:
        """The tables as they are simulated, every update taking `factor` times as long as learnt."""
        return Workload(
            tables=tuple(
                SimulatedTable(
                    name=table.name,
                    stream=self._stream(table, table.pattern, horizon) if table.pattern is not None else None,
                    sources=table.sources,
                    priority=table.priority,
                    alpha=factor * table.alpha,
                    beta=factor * table.beta,
                    factors=table.factors,
                    believed=table.believed,
                    target_lag=table.target_lag,
                    standing=table.standing,
                    computes_whole=self.cuts.computes_whole(table.name),
                )
                for table in self.tables.values()
            ),
            seed=seed,
            variability=self.contention.variability,
            rebuilds=tuple(_slowed(rebuild, factor) for rebuild in self.rebuilds),
            reach=self._reach,
        )

    def _stream(self, table: TableModel, pattern: ArrivalPattern, horizon: float) -> Stream:
        return Stream(
            period=table.period or pattern.period,
            arrivals=tuple(pattern.files(since=self.since, length=horizon)),
            late=Lateness(share=0.0, by=table.lateness) if table.lateness else None,
        )

    def _reach(self, name: str, cut: float) -> float | None:
        # Buckets close at full minutes of the real clock.
        reached = self.cuts.reach(name, micros(self.since + cut))
        return None if reached is None else seconds(reached) - self.since


def _slowed(rebuild: Rebuild, factor: float) -> Rebuild:
    dependents = {view: factor * work for view, work in rebuild.dependents.items()}
    return replace(rebuild, seconds=factor * rebuild.seconds, dependents=dependents)


def warehouse_model(project: Project, catalog: Catalog, *, now: float | None = None) -> WarehouseModel:
    """What is known of the project's tables and feeds.

    The model is of steady days, in which all tables begin fresh and the scheduler knows the costs. With a moment, it is
    of what comes next: tables begin as they stand then, paused and failed ones included, and what the scheduler has
    learnt it learns on.
    """
    rows = catalog.tables.all()
    patterns = {
        feed.name: arrival_pattern(feed, catalog, poll=project.settings.poll)
        for feed in project.feeds.values()
        if feed.brings_files
    }
    known = executions(catalog)
    begun = {} if now is None else starts(project, catalog, patterns, now)
    left_out: set[str] = set()
    updated = [table for table in project.graph.values() if table.made_by is None]
    streams = tuple(table.name for table in updated if project.graph.is_stale_by_waiting(table.name))
    tables: dict[str, TableModel] = {}
    for table in updated:
        row = rows.get(table.name)
        if table.name in streams:
            continue
        is_idle = row is not None and row.status != "active"
        if now is None and (is_idle or left_out.intersection(table.timed_sources)):
            left_out.add(table.name)
            continue
        cost, share = _cost_of(table.name, project, catalog, row)
        alpha, beta = (share * coefficient for coefficient in cost.coefficients)
        seen = known.get(table.name) if share == 1.0 else None
        feed = project.feeds[table.feed] if table.feed is not None else None
        tables[table.name] = TableModel(
            name=table.name,
            sources=table.timed_sources,
            priority=table.priority,
            target_lag=table.target_lag,
            period=table.period,
            alpha=alpha if seen is None else seen.alpha,
            beta=beta if seen is None else seen.beta,
            factors=() if seen is None else seen.factors,
            known_by="learnt" if cost.weight > 0.0 else "assumed",
            lateness=(feed.time.lateness or 0.0) if feed is not None else 0.0,
            pattern=patterns[feed.name] if feed is not None else None,
        )
        if table.name in begun:
            start = begun[table.name]
            # Of a group all members are simulated one by one: what was learnt of all together is not the cost of one.
            believed = start.learnt if share == 1.0 else CostModel.given(alpha, beta)
            tables[table.name] = replace(tables[table.name], standing=start.standing, believed=believed)
    newest = max((pattern.newest for pattern in patterns.values() if pattern.newest is not None), default=0.0)
    return WarehouseModel(
        tables=tables,
        left_out=tuple(name for name in project.graph if name in left_out),
        update_streams=streams,
        contention=learnt_contention(catalog),
        cuts=Cuts(project.graph),
        since=newest if now is None else now,
    )


def _cost_of(table: str, project: Project, catalog: Catalog, row: TableRow | None) -> tuple[CostModel, float]:
    """What is known of a table's cost, and its share of it: tables of an update group have one in common."""
    units = project.graph.units
    unit = units.of(table)
    if units.is_group(unit):
        return catalog.groups.get(unit, units[unit]) or CostModel(), 1.0 / len(units[unit])
    return CostModel() if row is None else row.cost, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What one scheduler makes of the tables on so many tracks."""

    scheduler: str
    tracks: int
    result: Result | None
    """None if it cannot work."""
    shortage: Shortage | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """The tables that are, at some time, staler than they should ever be."""
        if self.result is None:
            return ()
        staleness = self.result.staleness
        return tuple(
            table.name
            for table in self.result.tables
            if table.target_lag is not None and staleness[table.name].maximum > table.target_lag
        )

    @property
    def keeps_all(self) -> bool:
        return self.result is not None and not self.broken

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"scheduler": self.scheduler, "tracks": self.tracks}
        if self.result is None:
            return {**shown, "impossible": self.shortage.reason if self.shortage else None}
        return {
            **shown,
            "weighted_staleness": self.result.weighted_staleness,
            "utilisation": list(self.result.utilisation),
            "broken": list(self.broken),
            "tables": {
                table.name: {
                    "mean": curve.mean,
                    "p95": curve.quantile(0.95),
                    "max": curve.maximum,
                    "updates": curve.updates,
                    "target_lag": table.target_lag,
                }
                for table in self.result.tables
                for curve in (self.result.staleness[table.name],)
            },
        }


def predict(
    model: WarehouseModel, policy: Policy, *, tracks: int, horizon: float, seed: int = 0, scheduler: str = ""
) -> Prediction:
    """Simulate the tables under a policy.

    How long updates take depends on how many run at once, and that in turn on how long they take: the simulation is
    repeated until both agree.
    """
    factor = 1.0
    for _ in range(_MOST_ROUNDS):
        simulation = Simulation(model.workload(horizon=horizon, seed=seed, factor=factor), policy, tracks=tracks)
        if simulation.scheduler.shortage is not None:
            return Prediction(scheduler=scheduler, tracks=tracks, result=None, shortage=simulation.scheduler.shortage)
        updates: list[CompletedUpdate] = []
        result = simulation.run(horizon=horizon, on_update=updates.append)
        agreed = model.contention.factor(mean_at_once([(update.start, update.end) for update in updates]))
        if abs(agreed - factor) <= _SETTLED * factor:
            break
        factor = agreed
    return Prediction(scheduler=scheduler, tracks=tracks, result=result)
