"""An update that could start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, kw_only=True)
class Candidate:
    """What orderings judge. The scheduler keeps one per table and brings it up to date; what it shows are copies."""

    table: str
    place: int
    """Where the table stands in the declaration: the last word between equals."""
    priority: float
    """With what is inherited from the table's dependents."""
    period: float
    released_at: float = 0.0
    """When the oldest of the data arrived that the update would load."""
    delta: float = 0.0
    """Freshness gained, in seconds. Of an update stream: how long its oldest pending update has waited."""
    age: float = 0.0
    """How stale the table is. Where orderings ask for it: it grows while the candidate waits."""
    waited: float = 0.0
    """For how long there has been something to update since its last turn, likewise."""
    target: float = 1.0
    """The target lag, with what is inherited from the table's dependents."""
    cost: float = 1.0
    """Expected execution time, in seconds."""
    credit: float = 0.0
    """The staleness that it is ranked by, likewise."""
    gain: float = 0.0
    """How much of that goes with all that is pending, however it is cut, likewise."""
    work: float = 1.0
    """What that is expected to take, in seconds."""
    upto: float = 0.0
    due: float = 0.0
    """The deadline that its reservation gives it, under the adaptive scheduler."""
    update_stream: bool = False
    """Whether only the newest row of each key counts; then `delta` grows while it waits."""
    ticket: int = 0
    """The number under which it stands in a queue; 0 while it does not wait."""
    rank: Any = None
    """By which it stands there."""

    @property
    def benefit(self) -> float:
        """Marginal benefit: priority-weighted freshness gained per second of work (Golab et al. 2011, section 3.1)."""
        return self.priority * self.delta / self.cost

    @property
    def deadline(self) -> float:
        """The next data is due by then (section 3.1)."""
        return self.released_at + self.period
