"""Random workloads within the assumptions of Bateni et al. 2009, simulated and held against its theorems."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from freshtide.guarantees import (
    EagerLoad,
    Group,
    GroupedLoad,
    eager_breaches,
    eager_factor,
    grouped_breaches,
    staleness_bound,
    stretch_bound,
    waiting_bound,
    waiting_breaches,
    weighted_staleness_bound,
)
from freshtide.guarantees.competitiveness import LARGEST_SHARE
from freshtide.guarantees.stretch import STRETCH, least_weighted_staleness
from freshtide.scheduling import GlobalAllocation, GroupAndRun, NoInheritance, Policy, tracks_of
from freshtide.simulation import (
    CompletedUpdate,
    Pattern,
    Result,
    SimulatedTable,
    Simulation,
    Staleness,
    Stream,
    Workload,
)
from freshtide.simulation.streams import files_of
from tests.guarantees.tablesets import Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run that ended when all was loaded."""

    workload: Workload
    result: Result
    updates: list[CompletedUpdate]
    simulation: Simulation

    def stamps(self, table: SimulatedTable) -> list[float]:
        assert table.stream is not None
        assert table.stream.arrivals is not None
        return [stamp for _, stamp in table.stream.arrivals]


def eager_observations(seed: int, *, ordering: str, periods: int) -> Iterator[Observed]:
    """Theorem 3.1 for an eager scheduler, on files of which nothing is promised."""
    rng = random.Random(seed)
    tables, tracks = rng.randint(1, 10), rng.randint(1, 4)
    share = rng.choice([0.01, 0.1, 0.3, 0.999]) * LARGEST_SHARE
    variability = rng.choice([0.0, 0.5])
    load = EagerLoad(alpha=share * min(tracks, tables) / tables, tracks=tracks, tables=tables)
    assert not eager_breaches(load)
    workload = Workload(
        tables=tuple(_online(number, load.alpha / (1.0 + variability), periods, rng) for number in range(tables)),
        seed=seed,
        variability=variability,
    )
    policy = Policy(ordering=ordering, allocation=GlobalAllocation(), inheritance=NoInheritance(), chopping=None)
    flow = _run(workload, policy, tracks).result.flow()
    yield Observed("penalty of the eager", ordering, flow.penalty / flow.low, eager_factor(load))


def grouped_observations(seed: int, *, periods: int) -> Iterator[Observed]:
    """Lemma 4.2 and theorems 4.3 and 5.1, on groups that are quasiperiodic, or whose tables have different periods."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    load = _grouped_load(sizes, rng)
    assert not grouped_breaches(load)
    mixed = rng.random() < 0.3
    tables, longest = [], 1.0
    members: list[tuple[float, list[SimulatedTable]]] = []
    for size in sizes:
        group = []
        for number in range(size):
            period = longest * (rng.uniform(0.5, 1.0) if mixed else 1.0)
            group.append(_quasiperiodic(f"{len(members)}/{number}", period, load.alpha, periods, rng))
        members.append((longest, group))
        tables += group
        # So far apart that no two tables of different groups lie within a factor of 2.
        longest *= rng.uniform(2.1, 5.0) * (2.0 if mixed else 1.0)
    policy = Policy(ordering="myopic", allocation=GroupAndRun(), inheritance=NoInheritance())
    ran = _run(Workload(tables=tuple(tables), seed=seed), policy, load.tracks)
    for longest, group in members:
        yield from _group_observations(ran, longest, group, load.alpha, mixed=mixed)
    if not mixed:
        yield from _weighted_observations(ran)


def _group_observations(
    ran: Ran, longest: float, members: Sequence[SimulatedTable], alpha: float, *, mixed: bool
) -> Iterator[Observed]:
    partition = ran.simulation.scheduler.partition
    (lane,) = {partition.lanes[partition.lane_of[table.name]] for table in members}
    shortest = longest / (4.0 if mixed else 2.0)
    group = Group(tables=len(members), tracks=len(tracks_of(lane.own)), longest=longest, shortest=shortest)
    # That is the one thing which is asked and not needed for waiting.
    assert not waiting_breaches(replace(group, shortest=longest / 2.0), alpha=alpha)
    names = {table.name for table in members}
    updates = [update for update in ran.updates if update.table in names]
    yield Observed("tight interval", members[0].name, _longest_tight(updates, group.tracks), waiting_bound(group))
    flow = ran.result.flow()
    for table in members:
        stamps = ran.stamps(table)
        waits = _waits(stamps, [update for update in updates if update.table == table.name])
        stretch = flow.tables[table.name].stretch
        assert stretch is not None
        yield Observed("wait", table.name, max(waits), waiting_bound(group))
        if not mixed:
            yield Observed("stretch", table.name, stretch, STRETCH)
        yield Observed("sharper stretch", table.name, stretch, stretch_bound(group, alpha=alpha))
        stalest = max(_loaded(ran.result.staleness[table.name]).ends)
        yield Observed("staleness", table.name, stalest, staleness_bound(group, alpha=alpha))


def _weighted_observations(ran: Ran) -> Iterator[Observed]:
    """Both factors of theorem 5.1: what the proof gives, and the ratio to what no schedule can go below."""
    staleness = squares = 0.0
    for table in ran.workload.tables:
        staleness += table.priority * _loaded(ran.result.staleness[table.name]).area
        squares += table.priority * ran.result.flow().tables[table.name].low
    yield Observed("weighted staleness", "all", staleness, weighted_staleness_bound(squares))
    yield Observed("weighted ratio", "all", staleness / least_weighted_staleness(squares), 9.0)


def _run(workload: Workload, policy: Policy, tracks: int) -> Ran:
    updates: list[CompletedUpdate] = []
    simulation = Simulation(workload, policy, tracks=tracks, checking=True)
    result = simulation.run(on_update=updates.append)
    return Ran(workload=workload, result=result, updates=updates, simulation=simulation)


def _loaded(curve: Staleness) -> Staleness:
    """Staleness up to the moment at which all of the table's data was there."""
    return Staleness(
        starts=curve.starts[:-1], ends=curve.ends[:-1], moments=curve.moments, freshnesses=curve.freshnesses
    )


def _online(number: int, beta: float, periods: int, rng: random.Random) -> SimulatedTable:
    """Files as an adversary has them, or nearly regular ones; updates as slow as they may be, or faster."""
    patterns: tuple[Pattern, ...] = ("adversarial", "adversarial", "quasiperiodic")
    period = rng.choice([1.0, 1.0, 2.0, 7.0, 30.0])
    drawn = SimulatedTable(name=f"t{number}", stream=Stream(period=period, pattern=rng.choice(patterns)))
    # At least two files, so that the long periods take part.
    files = itertools.takewhile(
        lambda file: file[0] <= max(periods, 2.0 * period), files_of(drawn, rng.randrange(2**32))
    )
    stream = Stream(period=period, arrivals=tuple(files) or ((period, period),))
    return SimulatedTable(
        name=drawn.name,
        stream=stream,
        priority=rng.choice([1.0, 10.0]),
        alpha=0.0,
        beta=beta * rng.choice([1.0, 1.0, rng.random()]),
    )


def _grouped_load(sizes: Sequence[int], rng: random.Random) -> GroupedLoad:
    tables, groups = sum(sizes), len(sizes)
    tracks = 2 * groups + rng.choice([0, 0, 1, 3])
    alpha = min(1.0 / 8.0, (tracks - groups) / (8.0 * tables)) * rng.choice([1.0, 1.0, 0.5])
    return GroupedLoad(alpha=alpha, tracks=tracks, tables=tables, groups=groups)


def _quasiperiodic(name: str, longest: float, alpha: float, periods: int, rng: random.Random) -> SimulatedTable:
    """Distances from B/2 to B: drawn uniformly, or only the extremes, or all tables at nearly the same moments."""
    manner = rng.choice(["uniform", "extreme", "together"])
    stamps = [0.0]
    # A thousandth of a period apart, because no two updates may be released at the same moment.
    offset = 0.001 * rng.random()
    while len(stamps) < 4 or stamps[-1] < periods:
        if manner == "uniform":
            share = rng.uniform(0.5, 1.0)
        elif manner == "extreme":
            share = rng.choice([0.5 + offset, 1.0 - offset])
        else:
            share = 0.999 + offset * (1 if len(stamps) % 2 else -1)
        stamps.append(stamps[-1] + share * longest)
    stream = Stream(period=longest, arrivals=tuple((stamp, stamp) for stamp in stamps[1:]))
    return SimulatedTable(name=name, stream=stream, priority=rng.choice([1.0, 5.0]), alpha=0.0, beta=alpha)


def _waits(stamps: Sequence[float], updates: Iterable[CompletedUpdate]) -> list[float]:
    """Of each batch, from the release of its first update to its start: no other of its updates waits longer."""
    return [update.start - stamps[bisect_right(stamps, update.before)] for update in updates]


def _longest_tight(updates: Sequence[CompletedUpdate], tracks: int) -> float:
    """The longest time for which all tracks of a group were busy without a break (definition 4.1)."""
    changes: dict[float, int] = {}
    for update in updates:
        changes[update.start] = changes.get(update.start, 0) + 1
        changes[update.end] = changes.get(update.end, 0) - 1
    longest, running, since = 0.0, 0, 0.0
    for moment, change in sorted(changes.items()):
        if running == tracks:
            longest = max(longest, moment - since)
        was_tight = running == tracks
        running += change
        if running == tracks and not was_tight:
            since = moment
    return longest
