"""What to do: the outputs of the scheduler.

Nobody changes a command. Those that a simulation is given by the million are not frozen all the same, because a frozen
dataclass takes three times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """A table that could have been updated instead, its standing in the ordering, and why it waits."""

    table: str
    benefit: float
    waits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Why an update was chosen."""

    ordering: str
    allocation: str
    lane: str
    """The tables it shares its home tracks with."""
    placed: str
    """Why on this track: `home`, `shared`, `free` or `promoted`."""
    benefit: float
    """Marginal benefit: priority times freshness gained per second of expected execution."""
    delta: float
    cost: float
    waiting: int
    runners_up: tuple[RunnerUp, ...] = ()


@dataclass(slots=True, init=False)
class StartUpdate:
    """Update a table, on a track, with everything pending up to a time stamp."""

    table: str
    track: int
    upto: float
    rebuild: bool
    decision: Decision | None = field(compare=False)
    within: float | None
    """Seconds that it may take for all that the others can wait; None: nothing limits it."""

    # Written out, because one that is generated is not compiled with the class, and a simulation calls it most.
    def __init__(  # noqa: PLR0917 - by keyword it takes longer
        self,
        table: str,
        track: int,
        upto: float,
        rebuild: bool = False,
        decision: Decision | None = None,
        within: float | None = None,
    ) -> None:
        self.table, self.track, self.upto = table, track, upto
        self.rebuild, self.decision, self.within = rebuild, decision, within


@dataclass(slots=True)
class WakeAt:
    """Send a TimerFired at this moment."""

    time: float


@dataclass(slots=True)
class GiveUp:
    """A table has failed too often: it waits for the user, and its dependents wait with it."""

    table: str
    reason: str


@dataclass(slots=True)
class DropRebuild:
    """A rebuild that was only wished for is not gone on with; the table is updated as ever."""

    table: str
    reason: str | None = None
    """Why it has failed too often; None: the user has cancelled it."""


Command = StartUpdate | WakeAt | GiveUp | DropRebuild
