"""The campaign: supply, kill, look, and from time to time let everything come to rest and check it all."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chaos.oracle import Oracle
from chaos.rivals import Rivals
from chaos.runs import Death, RunEndedError, Runs
from chaos.supply import Supply
from chaos.warmth import WarmJvm
from chaos.world import World, write_project

POINTS = (
    "recorded",
    "spark-write",
    "staged",
    "rejects-committed",
    "log-entry",
    "checkpoint",
    "compaction",
    "vacuum",
    "recovery",
    "booking",
    "flow-journal",
    "flow-committed",
    "flow-landed",
)
_OFTEN = {"recorded": 25, "log-entry": 25, "booking": 25, "recovery": 4}
"""How often a run comes to a point, about; others are reached once or twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a campaign is to do."""

    seed: int
    until: float
    """On the monotonic clock."""
    kills: int | None
    """At most so many; None: as many as the time allows."""
    check_every: int
    """After so many kills everything is brought to rest and checked."""
    cold_every: int
    """Every so many kills take the JVM with them."""
    rivals_every: int
    """After so many kills two projects compete for the storage."""
    interval: float
    catalog: str | None


@dataclass(slots=True)
class Outcome:
    kills: Counter[str] = field(default_factory=Counter)
    contests: int = 0
    checks: int = 0
    rows: int = 0
    commits: int = 0
    wrong: list[str] = field(default_factory=list)


class Campaign:
    """One warehouse and all that is done to it."""

    def __init__(self, folder: Path, orders: Orders, tell: Callable[[str], None]) -> None:
        self._orders = orders
        self._tell = tell
        self._random = random.Random(orders.seed)
        world = World(folder=folder, catalog=orders.catalog)
        for name in ("project", "twin"):
            write_project(folder / name, world)
        self._supply = Supply(world.landing, seed=orders.seed + 1, interval=orders.interval)
        self._oracle = Oracle(world.storage, world.out, self._supply.truth)
        self._runs = Runs(folder / "project", folder / "runs.log")
        self._rivals = Rivals(
            self._runs,
            Runs(folder / "twin", folder / "twin.log"),
            lock=world.storage / "_freshtide" / "run.lock",
            commits=self._oracle.updates,
        )
        self._jvm = WarmJvm(folder / "spark.log")
        self._outcome = Outcome()

    def carry_out(self) -> Outcome:
        self._supply.drop_round()
        self._supply.start()
        try:
            while self._goes_on():
                self._kill_one()
                killed = self._outcome.kills.total()
                if killed % self._orders.rivals_every == 0:
                    self._compete()
                if killed % self._orders.check_every == 0:
                    self._check_all()
            if not self._outcome.wrong:
                self._check_all()
        except RunEndedError as error:
            self._outcome.wrong.append(str(error))
        finally:
            self._supply.stop()
            self._jvm.close()
        self._outcome.rows = len(self._supply.truth.rows)
        self._outcome.commits = self._oracle.updates()
        return self._outcome

    def _goes_on(self) -> bool:
        killed = self._outcome.kills.total()
        enough = self._orders.kills is not None and killed >= self._orders.kills
        return not self._outcome.wrong and not enough and time.monotonic() < self._orders.until

    def _kill_one(self) -> None:
        number = self._outcome.kills.total() + 1
        is_cold = number % self._orders.cold_every == 0
        environment = {} if is_cold else self._jvm.environment
        patience = 60.0 if is_cold else 30.0
        death = self._at_random(environment, patience) if self._random.random() < 0.4 else self._at_point(environment)
        if not is_cold:
            self._jvm.cut_off()
        self._outcome.kills[death.point] += 1
        with self._supply.held():
            self._outcome.wrong += self._oracle.while_running()
        self._tell(f"kill {number}: {death.point} after {death.seconds:.1f} s{' (cold)' if is_cold else ''}")

    def _at_random(self, environment: dict[str, str], patience: float) -> Death:
        wanted = self._oracle.updates() + self._random.randint(1, 15)
        return self._runs.kill_at_random(
            environment, is_time=lambda: self._oracle.updates() >= wanted, patience=patience
        )

    def _at_point(self, environment: dict[str, str]) -> Death:
        point = self._random.choice(POINTS)
        times = self._random.randint(1, _OFTEN.get(point, 2))
        return self._runs.kill_at_point(environment, point, times, patience=20.0)

    def _compete(self) -> None:
        contest = self._rivals.refuse if self._outcome.contests % 2 == 0 else self._rivals.take_over
        self._outcome.wrong += contest()
        with self._supply.held():
            self._outcome.wrong += self._oracle.while_running()
        self._outcome.contests += 1
        self._tell(f"contest {self._outcome.contests}: {contest.__name__}")

    def _check_all(self) -> None:
        """Let everything be loaded while nothing arrives, and hold it against the truth."""
        with self._supply.held():
            for command in (("run", "--once"), ("status", "--counts"), ("audit",)):
                failed = self._runs.finish(self._jvm.environment, *command, patience=300.0)
                self._jvm.cut_off()
                self._outcome.wrong += [failed] if failed else []
            self._outcome.wrong += self._oracle.at_rest()
        self._outcome.checks += 1
        self._tell(f"at rest: {len(self._supply.truth.rows):,} rows in {self._oracle.updates():,} commits checked")
