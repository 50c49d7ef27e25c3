"""A scheduler in the midst of a run, to be looked at."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from freshtide.core.commands import Command
from freshtide.core.events import Event
from freshtide.scheduling.allocations import Lane
from freshtide.scheduling.inheritance import inherited_from
from freshtide.scheduling.orderings import MaxBenefit
from freshtide.scheduling.scheduler import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What decides on a table's next update, besides the moment."""

    lane: Lane
    own_priority: float
    priority: float
    inherited_from: tuple[str, ...]
    """The dependents whose priority it is scheduled with."""
    stride: float | None
    """How much freshness one update may gain; None for any."""
    newest: float | None
    """Up to where data waits, whether or not one update may go that far."""


class StandingScheduler(Scheduler):
    """Is told what runs where, besides what has happened, and starts nothing itself."""

    def is_running(self, table: str, track: int, *, upto: float, rebuild: bool = False) -> None:
        """An update of the table has been started there, with what has arrived up to now."""
        state = self._states[table]
        state.upto = upto
        state.rebuild_wanted |= rebuild
        # It is among the tables that the first call looks at, and must not be started once more there.
        state.plain = False
        # Its reasons were those of another moment.
        self._explaining = False
        self._start(state, track)

    @property
    def ranks_by_benefit(self) -> bool:
        """Whether the marginal benefit is what puts an update before another."""
        return isinstance(self._ordering, MaxBenefit)

    def prospect(self, table: str) -> Prospect:
        state = self._states[table]
        own = {name: other.spec.priority for name, other in self._states.items()}
        scheduled = {name: other.priority for name, other in self._states.items()}
        dependents = {name: [d.table for d in other.dependents] for name, other in self._states.items()}
        return Prospect(
            lane=self._dispatcher.lanes[state.lane],
            own_priority=state.spec.priority,
            priority=state.priority,
            inherited_from=inherited_from(self._policy.inheritance, table, own, scheduled, dependents),
            stride=None if math.isinf(state.stride) else state.stride,
            newest=state.pending[-1] if state.pending else None,
        )

    def handle(self, events: Iterable[Event], now: float) -> list[Command]:
        """What waits goes on waiting, even for a track that is idle: none is offered."""
        dispatcher = self._dispatcher
        available, dispatcher.available = dispatcher.available, 0
        commands = super().handle(events, now)
        dispatcher.available = available
        return commands
