"""Scenarios: a warehouse and what happens to it, in one YAML file for `freshtide simulate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from freshtide.core.errors import Origin, Problem, ProjectError
from freshtide.project.notation.validation import Duration, PositiveDuration, Written, check, chosen
from freshtide.project.notation.yamlfile import YamlFile, read_yaml
from freshtide.project.scenarios.failures import overlapping_stops
from freshtide.project.scenarios.moments import Interval
from freshtide.project.scenarios.tables import ScenarioTables, read_tables
from freshtide.project.settings.adaptive import not_to_be_kept, unknown_tables
from freshtide.project.settings.schedulers import read_policy, too_few_tracks
from freshtide.project.settings.settings import WrittenRetry
from freshtide.scheduling import Policy, RetryPolicy
from freshtide.simulation import Simulation, Slowdown, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that a simulation needs."""

    workload: Workload
    policy: Policy
    retry: RetryPolicy
    tracks: int
    horizon: float
    target_lags: Mapping[str, float]
    """Of the tables that have one; those of a group each have their own."""


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file, or a ProjectError with everything that is wrong with it."""
    if not path.is_file():
        origin = Origin(file=path.as_posix())
        raise ProjectError([Problem(message="There is no such file.", origin=origin, way_out=_WAY_OUT)])
    return scenario_of(read_yaml(path, Path.cwd()))


def scenario_of(file: YamlFile) -> Scenario:
    """The scenario in YAML that has been read already."""
    written, problems = check(_WrittenScenario, file.value, file.origin)
    tables: ScenarioTables | None = None
    policy: Policy | None = None
    if isinstance(file.value, Mapping):
        policy, more = read_policy(file.value.get("scheduler"), file.origin)
        problems += more
        problems += [] if written is None else overlapping_stops(written.stops, file.origin)
        learnt = str(file.value.get("costs")).lower() == "learnt"
        tables, more = read_tables(file.value.get("tables"), file.value.get("groups"), file.origin, learnt=learnt)
        # That the key is missing has been said already.
        problems += more if "tables" in file.value else []
    if problems or written is None or policy is None or tables is None:
        raise ProjectError(sorted(problems, key=_line))
    slowdown = written.slowdown
    scenario = Scenario(
        workload=Workload(
            tables=tables.tables,
            seed=written.seed,
            variability=written.variability,
            slowdown=None
            if slowdown is None
            else Slowdown(factor=slowdown.factor, normal=slowdown.normal, slow=slowdown.slow),
            stops=tuple(sorted(written.stops)),
        ),
        policy=policy,
        retry=RetryPolicy(
            attempts=written.retry.attempts, backoff=written.retry.backoff, longest=written.retry.longest
        ),
        tracks=written.tracks,
        horizon=written.horizon,
        target_lags=tables.target_lags,
    )
    _require_tracks(scenario, file)
    return scenario


_WAY_OUT = "A scenario is a YAML file with tracks, horizon, scheduler and tables; examples/scenarios/ has some."


def _require_tracks(scenario: Scenario, file: YamlFile) -> None:
    names = [table.name for table in scenario.workload.tables]
    if problems := unknown_tables(scenario.policy, names, file.origin):
        raise ProjectError(problems)
    simulation = Simulation(scenario.workload, scenario.policy, tracks=scenario.tracks)
    if simulation.scheduler.breaches:
        raise ProjectError(not_to_be_kept(simulation.scheduler.breaches, file.origin(("scheduler",))))
    shortage = simulation.scheduler.shortage
    if shortage is not None:
        raise ProjectError([too_few_tracks(scenario.policy.allocation, shortage, file.origin(("scheduler",)))])


def _line(problem: Problem) -> int:
    return problem.origin.line if problem.origin else 0


_COSTS = ("given", "learnt")


class _WrittenSlowdown(Written):
    factor: float = Field(gt=0.0)
    normal: Duration
    slow: PositiveDuration


class _WrittenScenario(Written):
    tracks: int = Field(default=1, ge=1, le=10_000)
    horizon: PositiveDuration
    seed: int = 0
    # From 1 on, updates could take no time at all, or less than none.
    variability: float = Field(default=0.0, ge=0.0, lt=1.0)
    slowdown: _WrittenSlowdown | None = None
    costs: Annotated[str, BeforeValidator(lambda value: chosen(value, _COSTS, "where costs come from"))] = "given"
    stops: list[Interval] = Field(default_factory=list)
    retry: WrittenRetry = WrittenRetry()
    # Read apart: what is allowed there depends on what is written there.
    scheduler: Any = None
    tables: Any
    groups: Any = None
