"""The tables of a scenario and the groups that are updated together."""

from __future__ import annotations

import graphlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field

from freshtide.core.durations import parse_duration
from freshtide.core.errors import Problem, choices
from freshtide.project.notation.validation import (
    Duration,
    Place,
    PositiveDuration,
    Written,
    check,
    chosen,
    plain,
    understood,
    wrong,
)
from freshtide.project.notation.yamlfile import KeyPath
from freshtide.simulation import Lateness, Pattern, SimulatedTable, Stream

_TABLES: KeyPath = ("tables",)
_GROUPS: KeyPath = ("groups",)
_FORMS = (
    "Write a stream like {period: 100, alpha: 1, beta: 0.1} or {arrivals: [[4, 3], [7, 7]], alpha: 1}, "
    "a view like {sources: [a, b], alpha: 1}."
)
_PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
_PERIODIC = ("phase", "jitter", "late", "outages")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTables:
    """The tables as they are simulated, each group being one."""

    tables: tuple[SimulatedTable, ...]
    target_lags: Mapping[str, float]


def read_tables(tables: object, groups: object, place: Place) -> tuple[ScenarioTables | None, list[Problem]]:
    """What stands under `tables` and `groups`, or None and everything that is wrong with it."""
    if not isinstance(tables, Mapping) or not tables:
        return None, [Problem(message="A scenario needs tables.", origin=place(_TABLES), way_out=_FORMS)]
    found: dict[str, SimulatedTable] = {}
    problems: list[Problem] = []
    for name, values in tables.items():
        table, faults = _table(name, values, tables, place)
        problems += faults
        if table is not None:
            found[name] = table
    problems += _circle(found, place)
    if problems:
        # Groups of tables that are wrong themselves would only repeat it.
        return None, problems
    grouped, problems = _groups(groups, found, place)
    if problems:
        return None, problems
    lags = {name: table.target_lag for name, table in found.items() if table.target_lag is not None}
    return ScenarioTables(tables=_joined(found, grouped), target_lags=lags), []


def _table(
    name: str, values: object, known: Mapping[str, object], place: Place
) -> tuple[SimulatedTable | None, list[Problem]]:
    within = (*_TABLES, name)
    written, problems = check(_WrittenTable, values, place, within=within)
    if written is None:
        return None, problems
    problems = _wrong_kind(name, written, place) + _unknown_sources(name, written, known, place)
    problems += _two_costs(name, written, place)
    if problems:
        return None, problems
    return SimulatedTable(
        name=name,
        stream=None if written.sources is not None else _stream(written),
        sources=tuple(dict.fromkeys(written.sources or ())),
        priority=written.priority,
        alpha=written.alpha if written.cost is None else written.cost,
        beta=written.beta,
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


def _groups(
    groups: object, tables: Mapping[str, SimulatedTable], place: Place
) -> tuple[dict[str, SimulatedTable], list[Problem]]:
    """Each group as the one table that stands for it."""
    if groups is None:
        return {}, []
    if not isinstance(groups, Mapping):
        message = "'groups' must be names with lists of tables."
        way_out = "Write {g: [x, y]} or {g: {tables: [x, y], alpha: 1, beta: 0.2}}."
        return {}, [Problem(message=message, origin=place(_GROUPS), way_out=way_out)]
    found: dict[str, SimulatedTable] = {}
    problems: list[Problem] = []
    taken: dict[str, str] = {}
    for name, values in groups.items():
        within = (*_GROUPS, name)
        shaped = {"tables": values} if isinstance(values, Sequence) and not isinstance(values, str) else values
        written, faults = check(_WrittenGroup, shaped, place, within=within)
        if written is not None:
            faults = _wrong_group(name, written, tables, taken, place)
        problems += faults
        if written is None or faults:
            continue
        for member in written.tables:
            taken[member] = name
        found[name] = _as_one(name, written, [tables[member] for member in written.tables])
    return found, problems


def _wrong_group(
    name: str,
    written: _WrittenGroup,
    tables: Mapping[str, SimulatedTable],
    taken: Mapping[str, str],
    place: Place,
) -> list[Problem]:
    origin = place((*_GROUPS, name))
    if name in tables:
        return [Problem(message=f"'{name}' is a table and a group.", origin=origin, way_out="Rename one of them.")]
    if unknown := [member for member in written.tables if member not in tables]:
        message = f"The member '{unknown[0]}' of the group '{name}' is not a table."
        return [Problem(message=message, origin=origin, way_out=choices(unknown[0], tables))]
    members = list(dict.fromkeys(written.tables))
    if len(members) < 2 or len(members) < len(written.tables):
        message = f"The group '{name}' must name two tables or more, each once."
        return [Problem(message=message, origin=origin, way_out=choices("", tables))]
    if elsewhere := [member for member in members if member in taken]:
        message = f"'{elsewhere[0]}' is in the groups '{taken[elsewhere[0]]}' and '{name}'."
        return [Problem(message=message, origin=origin, way_out="A table is in one group at most.")]
    first = tables[members[0]]
    for other in (tables[member] for member in members[1:]):
        if set(other.sources) != set(first.sources) or other.stream != first.stream:
            message = f"'{first.name}' and '{other.name}' cannot be updated together in the group '{name}'."
            way_out = "The tables of a group have the same sources, or are streams with the same arrivals."
            return [Problem(message=message, origin=origin, way_out=way_out)]
    return []


def _as_one(name: str, written: _WrittenGroup, members: Sequence[SimulatedTable]) -> SimulatedTable:
    lags = [member.target_lag for member in members if member.target_lag is not None]
    return SimulatedTable(
        name=name,
        stream=members[0].stream,
        sources=members[0].sources,
        priority=sum(member.priority for member in members),
        # Begun once instead of once for each, while each still has its rows to write.
        alpha=max(member.alpha for member in members) if written.alpha is None else written.alpha,
        beta=sum(member.beta for member in members) if written.beta is None else written.beta,
        members=tuple(member.name for member in members),
        member_priorities=tuple(member.priority for member in members),
        target_lag=min(lags, default=None),
    )


def _joined(tables: Mapping[str, SimulatedTable], groups: Mapping[str, SimulatedTable]) -> tuple[SimulatedTable, ...]:
    """Each group in the place of its first member, and as a source in the place of any."""
    group_of = {member: group for group in groups.values() for member in group.members}
    simulated = dict.fromkeys(group_of[name].name if name in group_of else name for name in tables)
    standing = {**tables, **groups}
    return tuple(
        replace(
            standing[name],
            sources=tuple(dict.fromkeys(group_of[s].name if s in group_of else s for s in standing[name].sources)),
        )
        for name in simulated
    )


def _pair(value: object) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise wrong("Two moments are expected here.", way_out="Write them like [4, 3].")
    first, second = (understood(parse_duration, plain(moment, "a moment")) for moment in value)
    return first, second


def _outage(value: object) -> tuple[float, float]:
    start, end = _pair(value)
    if not start < end:
        raise wrong("An outage must end after it has begun.", way_out="Write it like [start, end].")
    return start, end


class _WrittenLate(Written):
    share: float = Field(ge=0.0, le=1.0)
    by: PositiveDuration


class _WrittenTable(Written):
    sources: list[str] | None = Field(default=None, min_length=1)
    period: PositiveDuration | None = None
    pattern: Annotated[Pattern, BeforeValidator(lambda value: chosen(value, _PATTERNS, "a pattern"))] = "periodic"
    phase: Duration = 0.0
    jitter: Duration = 0.0
    late: _WrittenLate | None = None
    outages: list[Annotated[tuple[float, float], BeforeValidator(_outage)]] = Field(default_factory=list)
    arrivals: list[Annotated[tuple[float, float], BeforeValidator(_pair)]] | None = Field(default=None, min_length=1)
    """(arrival, time stamp) of every file."""
    priority: float = Field(default=1.0, gt=0.0)
    alpha: Duration = 1.0
    beta: float = Field(default=0.0, ge=0.0)
    cost: PositiveDuration | None = None
    """Of every update, however much it loads: alpha, and no beta."""
    target_lag: PositiveDuration | None = None


class _WrittenGroup(Written):
    tables: list[str]
    alpha: Duration | None = None
    beta: float | None = Field(default=None, ge=0.0)
