"""The campaign: supply, kill, look, and from time to time let everything come to rest and check it all."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chaos.aging import let_days_pass
from chaos.aims import POINTS, Aim, Aims
from chaos.logs import Logs
from chaos.oracle import Oracle
from chaos.rivals import Rivals
from chaos.runs import Death, RunEndedError, Runs
from chaos.supply import Supply
from chaos.warmth import WarmJvm
from chaos.world import World, write_project

# How long a run may take to come to a point. On a slow machine longer: so many times as long as the quickest has taken,
# and more where its JVM has just been started.
_PATIENCE, _QUICKEST, _COLD_FACTOR = 20.0, 12.0, 2.0
_FIRST_PATIENCE = 240.0
# How much longer a campaign may take that has not come to its least number of kills yet.
_GRACE = 1_200.0
# Whatever must come to its end, does so within this, on however slow a machine.
_FOREVER = 1_800.0
_MOST_COMMITS = 10
# Enough for the first runs to come to every point.
_ROUNDS_AT_ONCE = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a campaign is to do."""

    seed: int
    until: float
    """On the monotonic clock."""
    least: int
    """Fewer kills at named points prove nothing: where there is no time for them, it goes on for a while."""
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

    @property
    def at_points(self) -> int:
        """How many kills were at a named point."""
        return sum(count for point, count in self.kills.items() if point in POINTS)


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
        self._world = world
        self._aims = Aims(self._random)
        self._logs = Logs(world.storage)
        self._oracle = Oracle(world.storage, world.out, self._supply.truth, self._logs)
        self._runs = Runs(folder / "project", folder / "runs.log")
        self._rivals = Rivals(
            self._runs,
            Runs(folder / "twin", folder / "twin.log"),
            lock=world.storage / "_freshtide" / "run.lock",
            commits=self._logs.commits,
            patience=_FOREVER,
        )
        self._jvm = WarmJvm(folder / "spark.log")
        self._outcome = Outcome()
        self._is_ending = False
        self._patience = _FIRST_PATIENCE

    def end_soon(self) -> None:
        """Kill no more; what has been done is checked."""
        self._is_ending = True

    def carry_out(self) -> Outcome:
        for _ in range(_ROUNDS_AT_ONCE):
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
        self._outcome.commits = self._logs.commits()
        return self._outcome

    def _goes_on(self) -> bool:
        killed = self._outcome.kills.total()
        enough = self._orders.kills is not None and killed >= self._orders.kills
        over_at = self._orders.until + (_GRACE if self._outcome.at_points < self._orders.least else 0.0)
        is_over = enough or self._is_ending or time.monotonic() > over_at
        return not self._outcome.wrong and not is_over

    def _kill_one(self) -> None:
        number = self._outcome.kills.total() + 1
        is_cold = number % self._orders.cold_every == 0
        aim = self._aims.next(self._logs.most_since_checkpoint())
        if aim.point == "vacuum":
            let_days_pass(self._world.storage)
        death = self._die(aim, is_cold=is_cold)
        if not is_cold:
            self._jvm.cut_off()
        self._outcome.kills[death.point] += 1
        self._patience = min(self._patience, max(_PATIENCE, _QUICKEST * death.seconds))
        with self._supply.held():
            self._outcome.wrong += self._oracle.while_running()
        missed = f", not at {aim.point}" if death.point != aim.point else ""
        cold = ", with its JVM" if is_cold else ""
        self._tell(f"kill {number}: {death.point}{missed} after {death.seconds:.1f} s{cold}")

    def _die(self, aim: Aim, *, is_cold: bool) -> Death:
        environment = {} if is_cold else self._jvm.environment
        patience = self._patience * (_COLD_FACTOR if is_cold else 1.0)
        if not aim.is_random:
            return self._runs.kill_at_point(environment, aim.point, aim.times, patience=patience)
        wanted = self._logs.commits() + self._random.randint(1, _MOST_COMMITS)
        return self._runs.kill_at_random(environment, is_time=lambda: self._logs.commits() >= wanted, patience=patience)

    def _compete(self) -> None:
        contest = self._rivals.refuse if self._outcome.contests % 2 == 0 else self._rivals.take_over
        self._outcome.wrong += contest(self._jvm.environment)
        self._jvm.cut_off()
        with self._supply.held():
            self._outcome.wrong += self._oracle.while_running()
        self._outcome.contests += 1
        self._tell(f"contest {self._outcome.contests}: {contest.__name__}")

    def _check_all(self) -> None:
        """Let everything be loaded while nothing arrives, and hold it against the truth."""
        with self._supply.held():
            for command in (("run", "--once"), ("status", "--counts"), ("audit",)):
                failed = self._runs.finish(self._jvm.environment, *command, patience=_FOREVER)
                self._jvm.cut_off()
                self._outcome.wrong += [failed] if failed else []
            self._outcome.wrong += self._oracle.at_rest()
        self._outcome.checks += 1
        self._tell(f"at rest: {len(self._supply.truth.rows):,} rows in {self._logs.commits():,} commits checked")
