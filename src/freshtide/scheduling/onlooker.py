"""A scheduler in the midst of a run, to be looked at."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from freshtide.core.events import Event
from freshtide.scheduling.allocations import Lane
from freshtide.scheduling.conditions import TableStatus
from freshtide.scheduling.inheritance import inherited_from
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.linking import heirs_of
from freshtide.scheduling.orderings import MaxBenefit
from freshtide.scheduling.overview import Overview


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What decides on a table's next update, besides the moment."""

    lane: Lane
    own_priority: float
    priority: float
    inherited_from: tuple[str, ...]
    """The dependents whose priority it is scheduled with."""
    target: float
    """The target lag that it is scheduled with: its own, that of a dependent, or one by its period."""
    target_from: str | None
    """Whose target lag that is: its own name, that of a dependent; None where it goes by its period."""
    leaning: float
    """The factor by which its cost is believed to differ from what was learnt, where the ordering asks for it."""
    owed: float
    """For how many seconds it may count that its turns have not made up for, likewise."""
    stride: float | None
    """How much freshness one update may gain; None for any."""
    newest: float | None
    """Up to where data waits, whether or not one update may go that far."""


class Onlooker(Overview):
    """Is told what runs where, besides what has happened. It applies that, and decides nothing."""

    def apply(self, events: Iterable[Event], now: float) -> None:
        """Take note of all that happened. What could be updated then waits, even for a track that is idle."""
        situation = self._situation
        situation.apply(events, now)
        if not situation.held:
            situation.steer(now)
            situation.line_up(now)

    def is_running(self, table: str, track: int, *, upto: float, rebuild: bool = False) -> None:
        """An update of the table has been started there, with what has arrived up to now."""
        known = self._situation.tables[table]
        known.candidate.upto = upto
        known.pending.rebuild_wanted |= rebuild
        # It may be among the tables that are looked at next, and must not wait once more there.
        known.plain = False
        self._dispatcher.take(known, track)
        known.started()

    @property
    def ranks_by_benefit(self) -> bool:
        """Whether the marginal benefit is what puts an update before another."""
        return isinstance(self._ordering, MaxBenefit)

    def prospect(self, table: str) -> Prospect:
        tables = self._situation.tables
        known = tables[table]
        own = {name: other.spec.priority for name, other in tables.items()}
        scheduled = {name: other.candidate.priority for name, other in tables.items()}
        dependents = {name: heirs_of(other) for name, other in tables.items()}
        return Prospect(
            lane=known.lane,
            own_priority=known.spec.priority,
            priority=known.candidate.priority,
            inherited_from=inherited_from(self._policy.inheritance, table, own, scheduled, dependents),
            target=known.candidate.target,
            target_from=_giver_of_target(known),
            leaning=known.estimate.leaning if known.ages else 1.0,
            owed=0.0 if self._arrears is None else self._arrears.most(known),
            stride=None if math.isinf(known.stride) else known.stride,
            newest=known.pending.stamps[-1] if known.pending.stamps else None,
        )


def _giver_of_target(table: KnownTable) -> str | None:
    """Of several that ask for the same, the nearest."""
    front, seen = [table], {table.name}
    for known in front:
        if known.spec.target == table.candidate.target:
            return known.name
        heirs = [heir for heir in known.dependents if heir.condition.status is TableStatus.ACTIVE]
        front += [heir for heir in heirs if heir.name not in seen]
        seen |= {heir.name for heir in heirs}
    return None
