"""What is simulated: tables, the data that arrives for them, and how long updates take."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

from freshtide.core.costs import Cost

Pattern = Literal["periodic", "quasiperiodic", "adversarial"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Files that come out of order: a share of them is held up, for at most so many seconds."""

    share: float
    by: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The data of a base table: files in a pattern, or at given moments.

    A file is stamped when it is due, unless it is said how old time stamps are."""

    period: float
    pattern: Pattern = "periodic"
    """When files are due: each period; or with distances drawn uniformly from half a period to a whole one (Bateni et
    al. 2009, section 1); or as an adversary would have it (`simulation/adversary.py`), the period being his scale."""
    phase: float = 0.0
    jitter: float = 0.0
    """A file comes up to so many seconds after it is due."""
    timestamp_jitter: float | None = None
    """A file is stamped up to so many seconds before it comes, or would have come but for an outage."""
    late: Lateness | None = None
    outages: tuple[tuple[float, float], ...] = ()
    """What is due in such an interval comes when it ends."""
    arrivals: tuple[tuple[float, float], ...] | None = None
    """(moment, time stamp) of every file, instead of a pattern. No file is stamped later than it comes."""

    def __post_init__(self) -> None:
        for moment, stamp in self.arrivals or ():
            if stamp > moment:
                raise ValueError(f"A file that comes at {moment:g} cannot be stamped {stamp:g}, which is later.")
        if self.pattern == "periodic":
            return
        irregular = self.phase or self.jitter or self.late or self.outages or self.timestamp_jitter
        if irregular or self.arrivals is not None:
            raise ValueError(f"A stream that is {self.pattern} comes as it is: only periodic ones can be disturbed.")

    @property
    def is_undisturbed(self) -> bool:
        """Whether a file comes each period, just when it is due."""
        disturbed = self.jitter or self.timestamp_jitter or self.late is not None or self.outages
        return self.pattern == "periodic" and not disturbed and self.arrivals is None

    @property
    def first(self) -> float:
        """When the first file of a periodic stream is due. What is stamped 0 is there already: all start that fresh."""
        return self.phase if self.phase > 0 else self.period


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Updates of a table that end without a commit, when they would have ended with one."""

    share: float = 0.0
    """How probable that is of each update."""
    during: tuple[tuple[float, float], ...] = ()
    """All fail that run at some moment of these intervals, ends included."""
    resumed_after: float | None = None
    """So long after the scheduler has given the table up, its user resumes it; None for never."""

    def strike(self, start: float, end: float, drawn: float) -> bool:
        """Whether an update fails, given when it runs and a number that was drawn for it from [0, 1)."""
        return drawn < self.share or any(begin <= end and start <= until for begin, until in self.during)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a table stands when a simulation begins, which is at 0: what was before has time stamps below."""

    freshness: float | None = 0.0
    """None: nothing has ever been loaded."""
    safe: float | None = 0.0
    pending: tuple[float, ...] = ()
    """Time stamps of files that have come and are not loaded."""
    paused: bool = False
    failed: bool = False


_FRESH = Standing()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTable:
    """A base table has a stream, a view has sources. An update that adds n seconds of data takes alpha + beta * n."""

    name: str
    stream: Stream | None = None
    sources: tuple[str, ...] = ()
    priority: float = 1.0
    alpha: float = 1.0
    beta: float = 0.0
    factors: tuple[float, ...] = ()
    """Drawn from, one for each update, to multiply that with; without any, the workload's variability counts."""
    believed: Cost | None = None
    """What the scheduler goes by, where it is not given what updates truly cost: other figures, or what it learns."""
    members: tuple[str, ...] = ()
    """The tables that are updated together in this one's updates, if it stands for a group."""
    member_priorities: tuple[float, ...] = ()
    target_lag: float | None = None
    failures: Failures | None = None
    standing: Standing = _FRESH
    computes_whole: bool = False
    """Whether each update computes all of it: then it is never cut."""

    @property
    def shown_as(self) -> tuple[tuple[str, float], ...]:
        """Names and priorities of the tables that the user knows."""
        if self.members:
            return tuple(zip(self.members, self.member_priorities, strict=True))
        return ((self.name, self.priority),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """A table is computed anew, and then all that is computed from it: how much work that is beyond fixed costs."""

    table: str
    at: float = 0.0
    seconds: float = 0.0
    longest: float | None = None
    """Seconds that a part takes at most, also where others could wait longer; None: it is not cut."""
    weights: tuple[int, ...] = ()
    """What its files weigh, in order: parts are made of them as in a run, which begins with small ones. The work is in
    proportion. Empty: parts are as long as they may be."""
    dependents: Mapping[str, float] = field(default_factory=dict)
    """Seconds by view, each of which is one update: all that is computed from the table, directly or not."""


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
    stops: tuple[tuple[float, float], ...] = ()
    """Intervals, one after the other, in which the warehouse stands still: running updates are lost, and what comes
    meanwhile is found when it starts again, with a scheduler that knows what a catalog would remember."""
    rebuilds: tuple[Rebuild, ...] = ()
    """What users ask to be computed anew."""
    reach: Callable[[str, float], float | None] | None = None
    """How far an update to a cut takes a view: all the way, unless it waits for buckets to close."""

    def __post_init__(self) -> None:
        if self.rebuilds and self.stops:
            raise ValueError("What becomes of a rebuild when the warehouse stops is not simulated.")
        if any(start >= end for start, end in self.stops) or list(self.stops) != sorted(self.stops):
            raise ValueError("A warehouse starts again after it has stopped, and stops are in the order of time.")
        if any(later <= end for (_, end), (later, _) in pairwise(self.stops)):
            raise ValueError("A warehouse cannot stop before it has started again.")

    @cached_property
    def periods(self) -> dict[str, float]:
        """Of base tables that of their stream, of views the largest among their ancestors (Golab 2011, 2.4)."""
        found: dict[str, float] = {}
        for table in sources_first(self.tables):
            stream = table.stream
            found[table.name] = max(found[source] for source in table.sources) if stream is None else stream.period
        return found

    def utilisation(self) -> float:
        """The number of tracks that updates once a period keep busy, in normal times."""
        return sum(t.alpha / self.periods[t.name] + t.beta for t in self.tables)


def sources_first(tables: Iterable[SimulatedTable]) -> Iterator[SimulatedTable]:
    """Each after those that it is computed from."""
    by_name = {table.name: table for table in tables}
    graph = {table.name: table.sources for table in by_name.values()}
    return (by_name[name] for name in graphlib.TopologicalSorter(graph).static_order())


def fresh_at_first(tables: Iterable[SimulatedTable]) -> dict[str, float]:
    """How fresh each table counts as at 0.

    One that has never been loaded counts as if it had been, up to a period before its oldest pending file, or up to 0
    if there is none. A view that has never been computed counts as fresh as the least fresh of its sources.
    """
    found: dict[str, float] = {}
    for table in sources_first(tables):
        standing, stream = table.standing, table.stream
        if standing.freshness is not None:
            found[table.name] = standing.freshness
        elif stream is None:
            found[table.name] = min(found[source] for source in table.sources)
        else:
            found[table.name] = min(standing.pending) - stream.period if standing.pending else 0.0
    return found
