"""Random sets of tables within the assumptions of the adaptive scheduler, simulated and held against their bounds.

The time stamps of some feeds are as irregular as Definition 2 of Leontyev et al. 2010 lets them be.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from freshtide.guarantees import (
    Reserved,
    breaches,
    fastest_recovery,
    joint_recovery,
    recovery_time,
    response_bounds,
    staleness_bounds,
    tardiness_bounds,
)
from freshtide.scheduling import Adaptive, Policy, adaptive_policy
from freshtide.scheduling.adaptive.settings import RecoveryRule
from freshtide.simulation import CompletedUpdate, SimulatedTable, Simulation, Stream, Workload

_FORMULAS = {"fastest": fastest_recovery, "together": joint_recovery}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSet:
    """Tables, tracks and a policy under which every bound must hold."""

    workload: Workload
    tracks: int
    policy: Policy
    reserved: tuple[Reserved, ...]
    outage: tuple[float, float] = (0.0, 0.0)
    cut: tuple[str, ...] = ()
    """The tables whose feeds have it."""

    @property
    def healthy(self) -> list[str]:
        """The tables below which no feed has an outage."""
        touched = set(self.cut)
        for table in self.workload.tables:
            if touched.intersection(table.sources):
                touched.add(table.name)
        return [table.name for table in self.workload.tables if table.name not in touched]


@dataclass(frozen=True, slots=True)
class Observed:
    """A value that was seen, and the bound it must not exceed."""

    what: str
    table: str
    value: float
    bound: float

    @property
    def slack(self) -> float:
        """What is left, as a share of the bound."""
        return 1.0 - self.value / self.bound


def random_table_set(rng: random.Random, *, with_outage: bool = False) -> TableSet:
    """Base tables with jittered feeds, views over them, and a load that the tracks can just carry or far less."""
    tracks = rng.randint(1, 4)
    tables = _tables(rng)
    plain = Workload(tables=tuple(tables), seed=rng.randrange(2**32), variability=rng.choice([0.0, 0.2, 0.5]))
    worst = 1.0 + plain.variability
    shares = {table.name: rng.random() ** 2 + 0.01 for table in tables}
    load = rng.choice([0.3, 0.7, 0.9, 1.0]) * tracks
    scale = load / sum(shares.values())
    scaled = []
    for table in tables:
        share = min(1.0, scale * shares[table.name]) / worst
        fixed = rng.random()
        period = plain.periods[table.name]
        scaled.append(replace(table, alpha=share * period * fixed, beta=share * (1.0 - fixed)))
    rules: list[RecoveryRule] = ["fastest", "together"]
    rule = rng.choice(rules)
    policy = adaptive_policy(Adaptive(recovery=rule, arbitration=rng.choice(["share", "priority"]), costs="worst"))
    workload = replace(plain, tables=tuple(scaled))
    reserved = _reserved(workload, tracks, rule)
    if with_outage:
        return _with_outage(TableSet(workload=workload, tracks=tracks, policy=policy, reserved=reserved), rng)
    return TableSet(workload=workload, tracks=tracks, policy=policy, reserved=reserved)


def _tables(rng: random.Random) -> list[SimulatedTable]:
    tables = []
    for number in range(rng.randint(1, 7)):
        period = rng.choice([1.0, 3.0, 10.0]) * rng.uniform(1.0, 2.0)
        jitter = rng.choice([0.0, rng.uniform(0.0, 0.5) * period])
        stream = Stream(
            period=period,
            phase=rng.uniform(0.001, 1.0) * period,
            jitter=jitter,
            timestamp_jitter=rng.choice([None, None, rng.uniform(0.0, 0.5) * period, rng.uniform(0.0, 12.0) * period]),
        )
        tables.append(SimulatedTable(name=f"b{number}", stream=stream, priority=rng.choice([1.0, 5.0])))
    for number in range(rng.randint(0, 4)):
        sources = rng.sample([table.name for table in tables], rng.randint(1, min(3, len(tables))))
        tables.append(SimulatedTable(name=f"v{number}", sources=tuple(sources), priority=rng.choice([1.0, 5.0])))
    return tables


def _reserved(workload: Workload, tracks: int, rule: RecoveryRule) -> tuple[Reserved, ...]:
    executions = {
        table.name: (1.0 + workload.variability) * (table.alpha + table.beta * workload.periods[table.name])
        for table in workload.tables
    }
    total = sum(executions[name] / workload.periods[name] for name in executions)
    found = []
    for table in workload.tables:
        period, execution, stream = workload.periods[table.name], executions[table.name], table.stream
        found.append(
            Reserved(
                table=table.name,
                period=period,
                execution=execution,
                recovery_period=_FORMULAS[rule](
                    execution=execution, period=period, total_utilisation=total, tracks=tracks
                ),
                sources=table.sources,
                # A file is due at its time stamp and comes within the jitter after it.
                phase=0.0 if stream is None else stream.phase + stream.jitter,
                arrival_jitter=0.0 if stream is None else stream.jitter,
                timestamp_jitter=0.0 if stream is None else _oldest(stream),
                burst=0.0
                if stream is None or stream.timestamp_jitter is None
                else (1.0 + workload.variability) * table.beta * (stream.jitter + stream.timestamp_jitter),
            )
        )
    return tuple(found)


def _oldest(stream: Stream) -> float:
    return stream.jitter if stream.timestamp_jitter is None else stream.timestamp_jitter


def _with_irregular_stamps(table: SimulatedTable, rng: random.Random, *, until: float) -> SimulatedTable:
    """Files that are as old as they may be for long, then young, then old again: those bring most data at once."""
    stream = table.stream
    if stream is None or stream.timestamp_jitter is None:
        return table
    files = []
    due, age, seldom = stream.first, 1.0, rng.choice([0.02, 0.2, 1.0])
    while due <= until:
        moment = due + rng.choice([0.0, rng.random(), 1.0]) * stream.jitter
        if rng.random() < seldom:
            age = rng.choice([0.0, rng.random(), 1.0])
        stamp = max(0.0, moment - age * stream.timestamp_jitter)
        held_up = [end for start, end in stream.outages if start <= moment < end]
        files.append((max([moment, *held_up]), stamp))
        due += stream.period
    return replace(table, stream=replace(stream, arrivals=tuple(files), outages=()))


def _with_outage(tables: TableSet, rng: random.Random) -> TableSet:
    """Some feeds are cut for so long that their tables are bound to fall behind their thresholds."""
    bases = [table for table in tables.workload.tables if table.stream is not None]
    cut = tuple(table.name for table in bases[: rng.choice([1, 1, 2, 3])])
    bounds = staleness_bounds(tables.reserved, tables.tracks)
    start = 20.0 * max(tables.workload.periods[name] for name in cut)
    outage = (start, start + rng.uniform(1.5, 4.0) * max(bounds[name] for name in cut))
    with_it = tuple(
        replace(table, stream=replace(table.stream, outages=(outage,)))
        if table.name in cut and table.stream is not None
        else table
        for table in tables.workload.tables
    )
    return replace(tables, workload=replace(tables.workload, tables=with_it), outage=outage, cut=cut)


def observations(tables: TableSet, *, periods: int, checking: bool = True) -> Iterator[Observed]:
    """Simulate so many of the longest periods, and give what was seen with its bound."""
    assert not breaches(tables.reserved, tables.tracks)
    horizon = periods * max(table.period for table in tables.reserved)
    world, rng = tables.workload, random.Random(tables.workload.seed)
    stamped = tuple(_with_irregular_stamps(table, rng, until=horizon) for table in world.tables)
    simulation = Simulation(replace(world, tables=stamped), tables.policy, tracks=tables.tracks, checking=checking)
    assert not simulation.scheduler.breaches
    tardiness: dict[str, float] = {}
    response: dict[str, float] = {}
    cleared: list[float] = []

    def watch(update: CompletedUpdate) -> None:
        # The scheduler has not been told of the end yet: it still knows what was reserved for the update.
        view = simulation.scheduler.look(update.table)
        if tables.cut == (update.table,) and update.start >= tables.outage[1] and not view.pending:
            cleared.append(update.end)
        reservation = view.reservation
        assert reservation is not None
        if reservation.runs_early:
            # It has no deadline of its own: what counts is that it keeps nobody from theirs.
            return
        late, took = update.end - reservation.deadline, update.end - reservation.released_at
        tardiness[update.table] = max(tardiness.get(update.table, 0.0), late)
        response[update.table] = max(response.get(update.table, 0.0), took)

    result = simulation.run(horizon=horizon, on_update=watch)
    bounds = {
        "tardiness": (tardiness, tardiness_bounds(tables.reserved, tables.tracks)),
        "response": (response, response_bounds(tables.reserved, tables.tracks)),
    }
    for what, (seen, bound) in bounds.items():
        for name, value in seen.items():
            yield Observed(what, name, value, bound[name])
    staleness = staleness_bounds(tables.reserved, tables.tracks)
    for name in tables.healthy:
        yield Observed("staleness", name, result.staleness[name].maximum, staleness[name])
    if len(tables.cut) == 1:
        yield from _recovery(tables, cleared, until=result.end)


def _recovery(tables: TableSet, cleared: Sequence[float], *, until: float) -> Iterator[Observed]:
    """How long a table takes that is the only one to be cut, and so enters recovery mode when the outage ends."""
    (name,) = tables.cut
    start, end = tables.outage
    table = next(table for table in tables.reserved if table.table == name)
    bound = recovery_time(table, response_bounds(tables.reserved, tables.tracks)[name], end - start)
    if end + bound <= until:
        yield Observed("recovery", name, min(cleared, default=until) - end, bound)
