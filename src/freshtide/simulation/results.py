"""What came out of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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

    @property
    def weighted_staleness(self) -> float:
        """The sum over tables of priority times time-averaged staleness."""
        return sum(table.priority * self.staleness[table.name].mean for table in self.tables)

    def as_json(self, *, uncontended: Result) -> dict[str, Any]:
        """For machines; `uncontended` is the same run without contention."""
        return {
            "seed": self.seed,
            "events": self.events,
            "end": self.end,
            "weighted_staleness": self.weighted_staleness,
            "relative_lateness": relative_lateness(self, uncontended),
            "utilisation": list(self.utilisation),
            "tables": {
                name: {
                    "mean": curve.mean,
                    "p95": curve.quantile(0.95),
                    "max": curve.maximum,
                    "final": curve.final,
                    "updates": curve.updates,
                }
                for name, curve in self.by_table().items()
            },
        }

    def by_table(self) -> dict[str, Staleness]:
        """The staleness of each table that the user knows: those of a group have the same."""
        return {name: self.staleness[table.name] for table in self.tables for name, _ in table.shown_as}


def relative_lateness(result: Result, uncontended: Result) -> float:
    """Weighted staleness against that of the same run without contention (Golab et al. 2011, section 4.1)."""
    lowest = uncontended.weighted_staleness
    return result.weighted_staleness / lowest if lowest > 0 else 1.0
