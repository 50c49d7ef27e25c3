"""What the scheduler has to be told of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from freshtide.core.costs import Cost, CostModel

SLACK: Final = "slack"
Chopping = float | Literal["slack"] | None
"""How much an update loads at most: so many periods, what the others' targets leave time for, or all that is there."""
# A feed that declares no period is taken for one that delivers every minute: ordering and sharing out need a number.
ASSUMED_PERIOD = 60.0
# Staleness grows to a period and the time of an update by itself: without a target a table may miss a turn.
TARGET_PERIODS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledTable:
    """What the scheduler has to be told of a table, and the state it starts from."""

    name: str
    sources: tuple[str, ...] = ()
    priority: float = 1.0
    period: float | None = None
    """None: unknown; then updates are not chopped."""
    target: float | None = None
    """The target lag; None: that of its dependents, or so many periods (`TARGET_PERIODS`)."""
    cost: Cost = field(default_factory=CostModel)
    freshness: float | None = None
    """None: nothing has ever been loaded."""
    safe: float | None = None
    paused: bool = False
    failed: bool = False
    update_stream: bool = False
    """Whether it is fed by an update stream: its staleness is then how long its oldest pending update has waited."""
    computes_whole: bool = False
    """Whether each update computes all of it: it is never cut, as an update takes as long wherever it is."""
    reference: bool = False
    """Whether dependents take its newest content, and do not wait for its time."""
    revised_sources: bool = False
    """Whether sources were revised after the table's last update."""
    phase: float = 0.0
    arrival_jitter: float = 0.0
    timestamp_jitter: float = 0.0
    """How regular the table's feed is (Leontyev et al. 2010, Definition 2); of views nothing is asked."""
    stamp_spread: float = 0.0
    """Any k files in a row bring at most k periods of data, and so much more."""
    held_back: float = 0.0
    """How far what dependents may use stays behind the table's freshness."""
    expected_at: float | None = None
    """When data, or a movement of the sources, is expected next."""
