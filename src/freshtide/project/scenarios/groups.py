"""The groups of a scenario: tables that are updated together, each group simulated as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from freshtide.core.errors import Problem, choices
from freshtide.project.notation.validation import Duration, Place, Written, check
from freshtide.project.notation.yamlfile import KeyPath
from freshtide.project.scenarios.expectations import WrittenExpectation, believed_together, not_learnt
from freshtide.project.scenarios.failures import WrittenFailures, failing_alone, failures_of
from freshtide.simulation import SimulatedTable

_GROUPS: KeyPath = ("groups",)


def read_groups(
    groups: object, tables: Mapping[str, SimulatedTable], place: Place, *, learnt: bool
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
            faults += not_learnt(within, written.expected, place, learnt=learnt)
            faults += failing_alone(name, [tables[member] for member in written.tables if member in tables], place)
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
        believed=believed_together(written.expected, members),
        failures=failures_of(written.failures),
        members=tuple(member.name for member in members),
        member_priorities=tuple(member.priority for member in members),
        target_lag=min(lags, default=None),
    )


def joined(tables: Mapping[str, SimulatedTable], groups: Mapping[str, SimulatedTable]) -> tuple[SimulatedTable, ...]:
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


class _WrittenGroup(Written):
    tables: list[str]
    alpha: Duration | None = None
    beta: float | None = Field(default=None, ge=0.0)
    expected: WrittenExpectation | None = None
    failures: WrittenFailures | None = None
