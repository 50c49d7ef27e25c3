"""What is simulated: tables, the data that arrives for them, and how long updates take."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Pattern = Literal["periodic", "quasiperiodic", "adversarial"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Files that come out of order: a share of them is held up, for at most so many seconds."""

    share: float
    by: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The data of a base table: files in a pattern, or at given moments. A file is stamped when it is due."""

    period: float
    pattern: Pattern = "periodic"
    """When files are due: each period; or with distances drawn uniformly from half a period to a whole one (Bateni et
    al. 2009, section 1); or as an adversary would have it (`simulation/adversary.py`), the period being his scale."""
    phase: float = 0.0
    jitter: float = 0.0
    """A file comes up to so many seconds after it is due."""
    late: Lateness | None = None
    outages: tuple[tuple[float, float], ...] = ()
    """What is due in such an interval comes when it ends."""
    arrivals: tuple[tuple[float, float], ...] | None = None
    """(moment, time stamp) of every file, instead of a pattern."""

    def __post_init__(self) -> None:
        if self.pattern == "periodic":
            return
        if self.phase or self.jitter or self.late or self.outages or self.arrivals is not None:
            raise ValueError(f"A stream that is {self.pattern} comes as it is: only periodic ones can be disturbed.")

    @property
    def is_undisturbed(self) -> bool:
        """Whether a file comes each period, just when it is due."""
        disturbed = self.jitter or self.late is not None or self.outages or self.arrivals is not None
        return self.pattern == "periodic" and not disturbed

    @property
    def first(self) -> float:
        """When the first file of a periodic stream is due. What is stamped 0 is there already: all start that fresh."""
        return self.phase if self.phase > 0 else self.period


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTable:
    """A base table has a stream, a view has sources. An update that adds n seconds of data takes alpha + beta * n."""

    name: str
    stream: Stream | None = None
    sources: tuple[str, ...] = ()
    priority: float = 1.0
    alpha: float = 1.0
    beta: float = 0.0
    members: tuple[str, ...] = ()
    """The tables that are updated together in this one's updates, if it stands for a group."""
    member_priorities: tuple[float, ...] = ()
    target_lag: float | None = None

    @property
    def shown_as(self) -> tuple[tuple[str, float], ...]:
        """Names and priorities of the tables that the user knows."""
        if self.members:
            return tuple(zip(self.members, self.member_priorities, strict=True))
        return ((self.name, self.priority),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """The machine is normal for a while, then slow for a while, and so on: updates begun then take `factor` as long."""

    factor: float
    normal: float
    slow: float

    def factor_at(self, time: float) -> float:
        return self.factor if time % (self.normal + self.slow) >= self.normal else 1.0

    def steady_until(self, time: float) -> float:
        """A moment up to which the factor stays as it is now; it may well stay a little longer."""
        cycle = self.normal + self.slow
        into = time % cycle
        # Just short of the change: rounding must not carry us beyond it.
        return (time - into + (self.normal if into < self.normal else cycle)) * (1.0 - 1e-9)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Tables, and what chance and the machine do to them. The same seed gives the same run."""

    tables: tuple[SimulatedTable, ...]
    seed: int = 0
    variability: float = 0.0
    """b: an update takes between (1 - b) and (1 + b) times what is expected, uniformly."""
    slowdown: Slowdown | None = None
    planned_costs: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """(alpha, beta) that the scheduler goes by where they are not the true ones."""
    reach: Callable[[str, float], float | None] | None = None
    """How far an update to a cut takes a view: all the way, unless it waits for buckets to close."""

    @cached_property
    def periods(self) -> dict[str, float]:
        """Of base tables that of their stream, of views the largest among their ancestors (Golab 2011, 2.4)."""
        by_name = {table.name: table for table in self.tables}
        found: dict[str, float] = {}
        for name in graphlib.TopologicalSorter({t.name: t.sources for t in self.tables}).static_order():
            stream = by_name[name].stream
            found[name] = max(found[source] for source in by_name[name].sources) if stream is None else stream.period
        return found

    def utilisation(self) -> float:
        """The number of tracks that updates once a period keep busy, in normal times."""
        return sum(t.alpha / self.periods[t.name] + t.beta for t in self.tables)
