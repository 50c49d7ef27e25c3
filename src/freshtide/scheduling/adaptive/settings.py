"""How the adaptive scheduler adapts, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from freshtide.core.costs import Cost
from freshtide.guarantees import fastest_recovery, joint_recovery

RecoveryRule = Literal["fastest", "together"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """Recovery periods, thresholds, and who may recover first (Leontyev et al. 2010, section III)."""

    recovery: RecoveryRule | float = "fastest"
    """One recovery period for all tables, or the formula: as short as possible for one, or for all together."""
    recovery_of: Mapping[str, float] = field(default_factory=dict)
    """The recovery periods of single tables."""
    threshold: float | None = None
    """A table may enter recovery mode when it is so far behind what is there; None: when its own bound A is broken."""
    threshold_of: Mapping[str, float] = field(default_factory=dict)
    arbitration: Literal["share", "priority"] = "share"
    """Who enters recovery mode first: the one that asks for the smallest extra share, or for the highest priority."""
    costs: Literal["average", "worst"] = "worst"
    """What shares are reserved by: the mean execution time, or the longest that is to be expected."""
    early: bool = True
    """Whether tables that have fallen behind may use tracks that are idle, before their next update is released."""

    def reserved_for(self, cost: Cost, data: float) -> float:
        """What is reserved for an update of so many seconds of data."""
        return cost.longest(data) if self.costs == "worst" else cost.expected(data)

    def gives_recovery(self, table: str) -> bool:
        """Whether the recovery period of the table is given as a number."""
        return not isinstance(self.recovery_of.get(table, self.recovery), str)

    def threshold_for(self, table: str, bound: float) -> float:
        """How far a table with this bound on its staleness falls behind before it enters recovery mode."""
        return self.threshold_of.get(table, bound if self.threshold is None else self.threshold)

    def recovery_period(
        self, table: str, *, execution: float, period: float, total_utilisation: float, tracks: int
    ) -> float:
        """The period of a table in recovery mode: as it is given, or by the formula."""
        given = self.recovery_of.get(table, self.recovery)
        if not isinstance(given, str):
            return given
        formula = fastest_recovery if given == "fastest" else joint_recovery
        return formula(execution=execution, period=period, total_utilisation=total_utilisation, tracks=tracks)
