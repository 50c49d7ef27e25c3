"""The tables of a scenario and the groups that are updated together."""

from __future__ import annotations

import graphlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field

from freshtide.core.errors import Problem, choices
from freshtide.project.notation.validation import (
    Duration,
    Place,
    PositiveDuration,
    Priority,
    Written,
    check,
    chosen,
)
from freshtide.project.notation.yamlfile import KeyPath
from freshtide.project.scenarios.expectations import WrittenExpectation, believed, not_learnt
from freshtide.project.scenarios.failures import WrittenFailures, failures_of
from freshtide.project.scenarios.groups import joined, read_groups
from freshtide.project.scenarios.moments import File, Interval
from freshtide.simulation import Lateness, Pattern, SimulatedTable, Stream

_TABLES: KeyPath = ("tables",)
_FORMS = (
    "Write a stream like {period: 100, alpha: 1, beta: 0.1} or {arrivals: [[4, 3], [7, 7]], alpha: 1}, "
    "a view like {sources: [a, b], alpha: 1}."
)
_PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
_PERIODIC = ("phase", "jitter", "timestamp_jitter", "late", "outages")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTables:
    """The tables as they are simulated, each group being one."""

    tables: tuple[SimulatedTable, ...]
    target_lags: Mapping[str, float]


def read_tables(
    tables: object, groups: object, place: Place, *, learnt: bool
) -> tuple[ScenarioTables | None, list[Problem]]:
    """What stands under `tables` and `groups`, or None and everything that is wrong with it.

    `learnt`: the scheduler learns what updates cost.
    """
    if not isinstance(tables, Mapping) or not tables:
        return None, [Problem(message="A scenario needs tables.", origin=place(_TABLES), way_out=_FORMS)]
    found: dict[str, SimulatedTable] = {}
    problems: list[Problem] = []
    for name, values in tables.items():
        table, faults = _table(name, values, tables, place, learnt=learnt)
        problems += faults
        if table is not None:
            found[name] = table
    problems += _circle(found, place)
    if problems:
        # Groups of tables that are wrong themselves would only repeat it.
        return None, problems
    grouped, problems = read_groups(groups, found, place, learnt=learnt)
    if problems:
        return None, problems
    lags = {name: table.target_lag for name, table in found.items() if table.target_lag is not None}
    return ScenarioTables(tables=joined(found, grouped), target_lags=lags), []


def _table(
    name: str, values: object, known: Mapping[str, object], place: Place, *, learnt: bool
) -> tuple[SimulatedTable | None, list[Problem]]:
    within = (*_TABLES, name)
    written, problems = check(_WrittenTable, values, place, within=within)
    if written is None:
        return None, problems
    problems = _wrong_kind(name, written, place) + _unknown_sources(name, written, known, place)
    problems += _two_costs(name, written, place) + not_learnt(within, written.expected, place, learnt=learnt)
    if problems:
        return None, problems
    return SimulatedTable(
        name=name,
        stream=None if written.sources is not None else _stream(written),
        sources=tuple(dict.fromkeys(written.sources or ())),
        priority=written.priority,
        alpha=written.alpha if written.cost is None else written.cost,
        beta=written.beta,
        believed=believed(written.expected, learnt=learnt),
        failures=failures_of(written.failures),
        target_lag=written.target_lag,
    ), []


def _wrong_kind(name: str, written: _WrittenTable, place: Place) -> list[Problem]:
    """A table has sources, or files each period, or files at given moments."""
    given = written.model_fields_set
    if written.sources is not None:
        misplaced = [key for key in ("period", "pattern", "arrivals", *_PERIODIC) if key in given]
        why = "has sources, and is updated when they are"
    elif written.arrivals is not None:
        misplaced = [key for key in ("pattern", *_PERIODIC) if key in given]
        why = "has its arrivals listed"
    elif written.period is None:
        message = f"'{name}' has neither a stream nor sources."
        return [Problem(message=message, origin=place((*_TABLES, name)), way_out=_FORMS)]
    elif written.pattern != "periodic":
        misplaced = [key for key in _PERIODIC if key in given]
        why = f"is {written.pattern}, and files are stamped when they come"
    else:
        return []
    return [
        Problem(
            message=f"'{name}' {why}, so it cannot have '{key}'.",
            origin=place((*_TABLES, name, key)),
            way_out=f"Take it out. {_FORMS}",
        )
        for key in misplaced
    ]


def _two_costs(name: str, written: _WrittenTable, place: Place) -> list[Problem]:
    doubled = [key for key in ("alpha", "beta") if key in written.model_fields_set]
    if written.cost is None or not doubled:
        return []
    return [
        Problem(
            message=f"'{name}' has a constant cost, so it cannot have '{doubled[0]}'.",
            origin=place((*_TABLES, name, doubled[0])),
            way_out="Write cost: 1, or alpha: 1, beta: 0.1.",
        )
    ]


def _unknown_sources(name: str, written: _WrittenTable, known: Mapping[str, object], place: Place) -> list[Problem]:
    return [
        Problem(
            message=f"The source '{source}' of '{name}' is not a table.",
            origin=place((*_TABLES, name, "sources", at)),
            way_out=choices(source, known),
        )
        for at, source in enumerate(written.sources or ())
        if source not in known
    ]


def _stream(written: _WrittenTable) -> Stream:
    arrivals = None if written.arrivals is None else tuple(written.arrivals)
    period = written.period
    if period is None:
        # Freshness begins at 0, so that the mean distance of the time stamps is the last one through their number.
        assert arrivals is not None
        stamps = {stamp for _, stamp in arrivals}
        period = max(stamps) / len(stamps) or 1.0
    return Stream(
        period=period,
        pattern=written.pattern,
        phase=written.phase,
        jitter=written.jitter,
        timestamp_jitter=written.timestamp_jitter,
        late=None if written.late is None else Lateness(share=written.late.share, by=written.late.by),
        # In order of time: what one outage holds up may come to lie in the next.
        outages=tuple(sorted(written.outages)),
        arrivals=arrivals,
    )


def _circle(tables: Mapping[str, SimulatedTable], place: Place) -> list[Problem]:
    # Without those that are wrong themselves there may be no circle yet; it is told when they are mended.
    known = {name: [source for source in table.sources if source in tables] for name, table in tables.items()}
    try:
        graphlib.TopologicalSorter(known).prepare()
    except graphlib.CycleError as error:
        circle: list[str] = error.args[1]
        message = f"These tables depend on each other in a circle: {' -> '.join(circle)}."
        origin = place((*_TABLES, circle[0], "sources"))
        return [Problem(message=message, origin=origin, way_out="Take one of them out of the others' sources.")]
    return []


class _WrittenLate(Written):
    share: float = Field(ge=0.0, le=1.0)
    by: PositiveDuration


class _WrittenTable(Written):
    sources: list[str] | None = Field(default=None, min_length=1)
    period: PositiveDuration | None = None
    pattern: Annotated[Pattern, BeforeValidator(lambda value: chosen(value, _PATTERNS, "a pattern"))] = "periodic"
    phase: Duration = 0.0
    jitter: Duration = 0.0
    timestamp_jitter: Duration | None = None
    late: _WrittenLate | None = None
    outages: list[Interval] = Field(default_factory=list)
    arrivals: list[File] | None = Field(default=None, min_length=1)
    """(arrival, time stamp) of every file."""
    priority: Priority = 1.0
    alpha: Duration = 1.0
    beta: float = Field(default=0.0, ge=0.0)
    cost: PositiveDuration | None = None
    """Of every update, however much it loads: alpha, and no beta."""
    target_lag: PositiveDuration | None = None
    expected: WrittenExpectation | None = None
    """What the scheduler takes updates to cost before it has learnt it."""
    failures: WrittenFailures | None = None
