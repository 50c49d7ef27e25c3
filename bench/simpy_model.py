"""The warehouse of Golab et al. 2011, section 4, as one would write it with SimPy: the peer of our simulator.

Streams and tracks are processes. The policy is Max Benefit over one queue with chopping, which for tables that are all
alike is what our default does: both come to the same staleness, to the last digit.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import simpy

from freshtide.simulation import Slowdown, Workload


class _Table:
    def __init__(self, name: str, seed: int, *, period: float, phase: float, alpha: float, beta: float) -> None:
        self.period, self.phase, self.alpha, self.beta = period, phase, alpha, beta
        self.draw = random.Random(f"{seed}/{name}").random
        self.freshness = 0.0
        self.pending: list[float] = []
        self.running = False
        self.since = 0.0
        self.area = 0.0

    def upto(self, chopping: float) -> float:
        limit = self.freshness + chopping * self.period * (1.0 + 1e-9)
        within = [stamp for stamp in self.pending if stamp <= limit]
        return within[-1] if within else self.pending[0]

    def benefit(self, chopping: float) -> float:
        gained = self.upto(chopping) - self.freshness
        return gained / (self.alpha + self.beta * gained)

    def pass_time(self, now: float) -> None:
        self.area += (now - self.since) * (now + self.since - 2.0 * self.freshness) / 2.0
        self.since = now


class SimpyWarehouse:
    """Runs a workload of base tables."""

    def __init__(self, workload: Workload, *, tracks: int, chopping: float) -> None:
        self.env = simpy.Environment()
        self.events = 0
        self._chopping = chopping
        self._variability = workload.variability
        self._slowdown: Slowdown | None = workload.slowdown
        self._waiting: list[_Table] = []
        self._idle: list[simpy.Event] = []
        self._tables = []
        for table in workload.tables:
            assert table.stream is not None
            self._tables.append(
                _Table(
                    table.name,
                    workload.seed,
                    period=table.stream.period,
                    phase=table.stream.phase,
                    alpha=table.alpha,
                    beta=table.beta,
                )
            )
        for each in self._tables:
            self.env.process(self._stream(each))
        for _ in range(tracks):
            self.env.process(self._track())

    def run(self, horizon: float) -> float:
        """The sum of the tables' mean staleness."""
        self.env.run(until=horizon)
        for table in self._tables:
            table.pass_time(horizon)
        return sum(table.area for table in self._tables) / horizon

    def _stream(self, table: _Table) -> Generator[simpy.Event, Any, None]:
        yield self.env.timeout(table.phase)
        while True:
            self.events += 1
            table.pending.append(self.env.now)
            if not table.running and len(table.pending) == 1:
                self._waiting.append(table)
                if self._idle:
                    self._idle.pop().succeed()
            yield self.env.timeout(table.period)

    def _track(self) -> Generator[simpy.Event, Any, None]:
        while True:
            while not self._waiting:
                wake = self.env.event()
                self._idle.append(wake)
                yield wake
            table = max(self._waiting, key=lambda table: table.benefit(self._chopping))
            self._waiting.remove(table)
            table.running = True
            upto = table.upto(self._chopping)
            table.pending = [stamp for stamp in table.pending if stamp > upto]
            seconds = table.alpha + table.beta * (upto - table.freshness)
            seconds *= 1.0 - self._variability + 2.0 * self._variability * table.draw()
            if self._slowdown is not None:
                seconds *= self._slowdown.factor_at(self.env.now)
            yield self.env.timeout(seconds)
            self.events += 1
            table.pass_time(self.env.now)
            table.freshness = upto
            table.running = False
            if table.pending:
                self._waiting.append(table)
