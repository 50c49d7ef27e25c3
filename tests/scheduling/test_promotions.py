"""Promotion under Proportional, step by step as Golab et al. 2011, section 3.2.3, has it, against the dispatcher."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from freshtide.core.events import DataArrived, UpdateFinished
from freshtide.scheduling import Proportional
from tests.examples import examples

from .bench import PLAIN, Bench, starts, table

PERIODS = (4.0, 40.0, 400.0, 4_000.0)
"""Far enough apart for a cluster each."""

Round = tuple[frozenset[int], frozenset[int]]
"""The tables for which a file comes, and the tracks whose updates have ended by then."""
Life = tuple[list[int], int, list[Round]]
"""Clusters of tables, tracks, and what happens."""


@dataclass(frozen=True)
class Share:
    """The tracks of a cluster: those above the first one, and the first, which it may share with longer ones."""

    low: float
    high: float

    @property
    def first(self) -> int:
        return math.floor(self.low)

    @property
    def above(self) -> range:
        return range(self.first + 1, math.ceil(self.high))


@dataclass
class Paper:
    """The scheduling algorithm of section 3.2.3, over lists."""

    clusters: list[int]
    """By table: its class of periods, the shortest first."""
    tracks: int
    aggressive: bool
    idle: set[int] = field(default_factory=set)
    waiting: dict[int, int] = field(default_factory=dict)
    """Tables to the round in which their file came."""
    running: dict[int, int] = field(default_factory=dict)
    """Tracks to tables."""

    def __post_init__(self) -> None:
        self.idle = set(range(self.tracks))
        # All tables load a track alike, so that shares are numbers of tables.
        self.shares, low = {}, 0.0
        for cluster in sorted(set(self.clusters), reverse=True):
            high = low + self.tracks * self.clusters.count(cluster) / len(self.clusters)
            self.shares[cluster] = Share(round(low, 9), round(high, 9))
            low = high

    def decide(self) -> list[tuple[int, int]]:
        """The tables that are started, and where."""
        started = []
        order = sorted(self.waiting, key=lambda table: (self.waiting[table], table))
        for place, job in enumerate(order):
            track = self.home(job, self.idle)
            if track is None:
                track = self.promoted(job, order[place + 1 :])
            if track is not None:
                self.idle.remove(track)
                self.running[track] = job
                del self.waiting[job]
                started.append((job, track))
        return started

    def home(self, job: int, idle: set[int]) -> int | None:
        """Steps b and c; with all tracks shared out there are no free ones for step d."""
        share = self.shares[self.clusters[job]]
        return next((track for track in (*share.above, share.first) if track in idle), None)

    def promoted(self, job: int, remaining: list[int]) -> int | None:
        """Step e."""
        below = [track for track in range(self.shares[self.clusters[job]].first) if track in self.idle]
        if not self.aggressive:
            left = set(self.idle)
            for other in remaining:
                track = self.home(other, left)
                if track is not None:
                    left.remove(track)
            below = [track for track in below if track in left]
        return min(below, default=None)


@st.composite
def lives(draw: st.DrawFn) -> Life:
    clusters = draw(st.lists(st.integers(0, len(PERIODS) - 1), min_size=3, max_size=12))
    tracks = draw(st.integers(2, 6))
    subsets = st.frozensets(st.integers(0, len(clusters) - 1)), st.frozensets(st.integers(0, tracks - 1))
    return clusters, tracks, draw(st.lists(st.tuples(*subsets), min_size=1, max_size=8))


COMPETING: Life = (
    [0] * 2 + [1] * 3 + [2] * 5,
    5,
    [(frozenset({0, 2, 5}), frozenset()), (frozenset({1, 3, 6}), frozenset())],
)
"""Tracks 0 and 2 are idle when three files come. That of the middle cluster takes track 2, which it shares with the
long one, so that the long one needs track 0: the short one, though first, must not be promoted there."""


@settings(max_examples=examples(400))
@given(life=lives(), aggressive=st.booleans())
@example(life=COMPETING, aggressive=False)
def test_updates_start_where_the_paper_has_them(life: Life, aggressive: bool) -> None:
    clusters, tracks, rounds = life
    paper = Paper(clusters, tracks, aggressive)
    bench = Bench(
        *(
            table(f"t{place}", alpha=0.1 * PERIODS[cluster], period=PERIODS[cluster], freshness=0.0, safe=0.0)
            for place, cluster in enumerate(clusters)
        ),
        tracks=tracks,
        policy=replace(PLAIN, allocation=Proportional(aggressive=aggressive, k=0.2), ordering="fifo"),
    )
    for number, (files, ended) in enumerate(rounds, start=1):
        over = {track: paper.running.pop(track) for track in sorted(ended) if track in paper.running}
        paper.idle |= over.keys()
        for job in files - set(paper.running.values()):
            paper.waiting.setdefault(job, number)
        finished = [
            UpdateFinished(
                table=f"t{job}",
                track=track,
                freshness=number - 0.5,
                safe=number - 0.5,
                seconds=0.1 * PERIODS[clusters[job]],
            )
            for track, job in over.items()
        ]
        arrived = [
            DataArrived(table=f"t{job}", timestamp=float(number))
            for job in sorted(files - set(paper.running.values()))
            if paper.waiting[job] == number
        ]
        commands = bench.at(float(number)).happens(*finished, *arrived)
        assert [(int(c.table[1:]), c.track) for c in starts(commands)] == paper.decide()
