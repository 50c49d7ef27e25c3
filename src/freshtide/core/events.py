"""What happened: the inputs of the scheduler.

An event is told and then forgotten: the scheduler keeps none, so that whoever tells one may write it anew for the next
time. The simulator, which tells millions, does so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class DataArrived:
    """New data for a base table, complete up to a time stamp."""

    table: str
    timestamp: float
    at: float | None = None
    """When it arrived, if that is not the moment at which the scheduler is told."""


@dataclass(slots=True)
class UpdateFinished:
    """An update has been committed."""

    table: str
    track: int
    freshness: float | None
    """None while no data with a time stamp has been loaded."""
    safe: float | None
    """No row stamped up to here can still arrive: dependents may be updated to it."""
    seconds: float
    revised: bool = False
    """Whether rows that dependents may have used have changed."""
    unfinished: bool = False
    """Whether it was a part of a rebuild, with nothing committed yet, and other parts are to follow."""


@dataclass(slots=True)
class ContentChanged:
    """A table that a flow makes has been written, together with the table whose update has run the flow."""

    table: str
    freshness: float
    """When it was changed last."""
    revised: bool = False
    """Whether dependents may have used what it held before."""


@dataclass(slots=True)
class UpdateFailed:
    """An update ended without a commit; its data is still pending."""

    table: str
    track: int
    reason: str
    blameless: bool = False
    """Whether disk, database or Spark was at fault: it counts as no try, and is repeated when they are well again."""
    hopeless: bool = False
    """Whether another try would do harm: the table is given up at once."""


@dataclass(slots=True)
class SurroundingsFailed:
    """Disk, database or Spark cannot be worked with: nothing is started until they are well again."""

    reason: str


@dataclass(slots=True)
class SurroundingsMended:
    """Disk, database and Spark are well again."""


@dataclass(slots=True)
class TimerFired:
    """The next moment that the scheduler asked for with WakeAt has come, by the clock of whoever tells."""


@dataclass(slots=True)
class TablePaused:
    """The user wants no more updates of a table for now."""

    table: str


@dataclass(slots=True)
class TableResumed:
    """A paused or failed table takes part again."""

    table: str


@dataclass(slots=True)
class RebuildRequested:
    """A table is to be computed anew, as of the freshness it has."""

    table: str
    wished: bool = False
    """Whether the table is as good without it: where it fails too often it is given up, and not the table."""
    before_loads: bool = False
    """Whether nothing can be loaded before it is done."""


@dataclass(slots=True)
class RebuildCancelled:
    """The user does not want a rebuild any more that was wished for."""

    table: str


Event = (
    DataArrived
    | UpdateFinished
    | ContentChanged
    | UpdateFailed
    | SurroundingsFailed
    | SurroundingsMended
    | TimerFired
    | TablePaused
    | TableResumed
    | RebuildRequested
    | RebuildCancelled
)
