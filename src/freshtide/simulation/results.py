"""What came out of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freshtide.simulation.flowtimes import Flow, flows
from freshtide.simulation.staleness import Staleness
from freshtide.simulation.workload import SimulatedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run: the staleness of every table, and how busy the tracks were."""

    staleness: Mapping[str, Staleness]
    tables: tuple[SimulatedTable, ...] = field(repr=False)
    utilisation: tuple[float, ...]
    """Of each track, the share of the time in which it was busy."""
    end: float
    events: int
    seed: int
    failures: Mapping[str, int]
    """How many updates of each table failed."""
    rebuilt: Mapping[str, float] = field(default_factory=dict)
    """When each table had been computed anew, of those that were."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """In how many updates, or how many of them have ended."""

    @property
    def weighted_staleness(self) -> float:
        """The sum over tables of priority times time-averaged staleness."""
        return sum(table.priority * self.staleness[table.name].mean for table in self.tables)

    def flow(self) -> WarehouseFlow:
        """How long data was on its way into the tables (Bateni et al. 2009, section 2).

        It is worked out when it is asked for: the files that arrived are drawn again.
        """
        found = flows(self.tables, self.staleness, seed=self.seed, end=self.end)
        shown = {name: found[table.name] for table in self.tables for name, _ in table.shown_as}
        return WarehouseFlow(tables=shown, staleness=sum(curve.area for curve in self.by_table().values()))

    def as_json(self, *, uncontended: Result) -> dict[str, Any]:
        """For machines; `uncontended` is the same run without contention."""
        flow = self.flow()
        failures = {name: self.failures[table.name] for table in self.tables for name, _ in table.shown_as}
        return {
            "seed": self.seed,
            "events": self.events,
            "end": self.end,
            "weighted_staleness": self.weighted_staleness,
            "relative_lateness": relative_lateness(self, uncontended),
            "utilisation": list(self.utilisation),
            "stretch": flow.stretch,
            "low": flow.low,
            "penalty": flow.penalty,
            "staleness_over_half_low": flow.staleness_over_half_low,
            "tables": {
                name: {
                    "mean": curve.mean,
                    "p95": curve.quantile(0.95),
                    "max": curve.maximum,
                    "final": curve.final,
                    "updates": curve.updates,
                    "failures": failures[name],
                    "stretch": flow.tables[name].stretch,
                }
                for name, curve in self.by_table().items()
            },
        }

    def by_table(self) -> dict[str, Staleness]:
        """The staleness of each table that the user knows: those of a group have the same."""
        return {name: self.staleness[table.name] for table in self.tables for name, _ in table.shown_as}


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseFlow:
    """How the updates of all tables flowed; tables of a group count one by one."""

    tables: Mapping[str, Flow]
    staleness: float
    """The sum over tables of the area under their staleness, without priorities."""

    @property
    def stretch(self) -> float | None:
        """The largest of any update; None if none was completed."""
        return max((flow.stretch for flow in self.tables.values() if flow.stretch is not None), default=None)

    @property
    def low(self) -> float:
        return sum(flow.low for flow in self.tables.values())

    @property
    def penalty(self) -> float:
        return sum(flow.penalty for flow in self.tables.values())

    @property
    def staleness_over_half_low(self) -> float | None:
        """Total staleness against the least that any schedule could reach, one that knows the future included.

        None if no data arrived.
        """
        return 2.0 * self.staleness / self.low if self.low > 0.0 else None


def relative_lateness(result: Result, uncontended: Result) -> float:
    """Weighted staleness against that of the same run without contention (Golab et al. 2011, section 4.1)."""
    lowest = uncontended.weighted_staleness
    return result.weighted_staleness / lowest if lowest > 0 else 1.0
