"""The lines of a trace: what a scheduler started from, what it was told and what it answered, as JSON.

A line holds one of four things:

    {"begins": ...}                          a run begins, with a scheduler that starts from this
    {"changes": ..., "redefined": ..., "now": ...}     it goes on with these tables, tracks and rules
    {"now": ..., "events": ..., "commands": ..., "reached": ...}     a decision
    {"continues": "trace.3.jsonl"}           the file before this one grew too large

A beginning is written out, so that it stays what it was when defaults change. In events and commands, fields that have
their default are left out. `reached` holds what the scheduler asked of the project for the decision,
as [table, cut, answer], where the answer was not the cut itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any

from freshtide.core.commands import Command
from freshtide.core.costs import Cost, CostModel, GivenCost
from freshtide.core.events import (
    ContentChanged,
    DataArrived,
    Event,
    RebuildCancelled,
    RebuildRequested,
    SurroundingsFailed,
    SurroundingsMended,
    TablePaused,
    TableResumed,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.scheduling import (
    ALLOCATIONS,
    INHERITANCES,
    Adaptive,
    Beginning,
    Policy,
    Reconfiguration,
    RetryPolicy,
    ScheduledTable,
)

Reached = tuple[str, float, float | None]
"""A table, a cut and how far it takes the table."""

_EVENTS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        DataArrived,
        UpdateFinished,
        ContentChanged,
        UpdateFailed,
        SurroundingsFailed,
        SurroundingsMended,
        TimerFired,
        TablePaused,
        TableResumed,
        RebuildRequested,
        RebuildCancelled,
    )
}
_encode = json.JSONEncoder(separators=(",", ":")).encode
_COSTS: dict[str, type[Any]] = {kind.__name__: kind for kind in (CostModel, GivenCost)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedDecision:
    """A call of the scheduler. The commands stay as they are written: that is how they are compared."""

    now: float
    events: tuple[Event, ...]
    commands: list[Any]
    reached: Mapping[tuple[str, float], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """The file goes on where another one ended."""

    predecessor: str


TraceLine = Beginning | Reconfiguration | TracedDecision | Continuation


def beginning_line(beginning: Beginning) -> str:
    return _line({"begins": _written_beginning(beginning)})


def change_line(now: float, change: Reconfiguration) -> str:
    return _line({"changes": _written_beginning(change.after), "redefined": list(change.redefined), "now": now})


def _written_beginning(beginning: Beginning) -> dict[str, Any]:
    policy = beginning.policy
    return {
        "tables": [_whole_table(table) for table in beginning.tables],
        "tracks": beginning.tracks,
        "policy": _whole(policy)
        | {
            "allocation": _whole(policy.allocation, name=policy.allocation.name),
            "inheritance": _whole(policy.inheritance, name=policy.inheritance.name),
            "adaptive": None if policy.adaptive is None else _whole(policy.adaptive),
        },
        "retry": _whole(beginning.retry),
    }


def decision_line(now: float, events: Iterable[Event], commands: Iterable[Command], reached: list[Reached]) -> str:
    written = {"now": now, "events": [_named(event) for event in events], "commands": written_commands(commands)}
    return _line(written | ({"reached": reached} if reached else {}))


def continuation_line(predecessor: str) -> str:
    return _line({"continues": predecessor})


def written_commands(commands: Iterable[Command]) -> list[Any]:
    """Commands as a trace has them, with the reasons for each."""
    return [_named(command) for command in commands]


def read_line(text: str) -> TraceLine:
    """What a line says; a ValueError, TypeError or KeyError where it is none of a trace."""
    written = json.loads(text)
    if not isinstance(written, dict):
        raise TypeError("keys and values are expected")
    if "begins" in written:
        return _beginning(written["begins"])
    if "changes" in written:
        return Reconfiguration(after=_beginning(written["changes"]), redefined=tuple(written["redefined"]))
    if "continues" in written:
        return Continuation(predecessor=str(written["continues"]))
    return TracedDecision(
        now=float(written["now"]),
        events=tuple(_made(_EVENTS, event) for event in written["events"]),
        commands=written["commands"],
        reached={(table, cut): answer for table, cut, answer in written.get("reached", ())},
    )


def _beginning(written: dict[str, Any]) -> Beginning:
    policy = written["policy"]
    allocation, inheritance, adaptive = policy["allocation"], policy["inheritance"], policy.get("adaptive")
    return Beginning(
        tables=tuple(_table(table) for table in written["tables"]),
        tracks=written["tracks"],
        policy=Policy(
            **policy
            | {
                "allocation": ALLOCATIONS[allocation["name"]](**_without(allocation, "name")),
                "inheritance": INHERITANCES[inheritance["name"]](**_without(inheritance, "name")),
                "adaptive": None if adaptive is None else Adaptive(**adaptive),
            }
        ),
        retry=RetryPolicy(**written["retry"]),
    )


def _table(written: dict[str, Any]) -> ScheduledTable:
    cost: Cost = _made(_COSTS, written["cost"])
    return ScheduledTable(**written | {"cost": cost, "sources": tuple(written["sources"])})


def _made(kinds: Mapping[str, type[Any]], written: dict[str, Any]) -> Any:
    return kinds[written["type"]](**_without(written, "type"))


def _named(message: Any) -> dict[str, Any]:
    return {"type": type(message).__name__, **_plain(message)}


def _whole_table(table: ScheduledTable) -> dict[str, Any]:
    return _whole(table) | {"cost": _whole(table.cost, type=type(table.cost).__name__)}


def _whole(value: Any, **more: str) -> dict[str, Any]:
    """All fields of a dataclass, after what tells which one it is."""
    return more | {field.name: getattr(value, field.name) for field in fields(value)}


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults."""
    found = {}
    for name, default in _defaults(value.__class__):
        said = getattr(value, name)
        if said != default:
            found[name] = _plain_value(said)
    return found


@cache
def _defaults(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    """By field; MISSING where it has none."""
    return tuple(
        (field.name, field.default_factory() if field.default_factory is not MISSING else field.default)
        for field in fields(kind)
    )


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(part) for part in value]
    return _plain(value) if is_dataclass(value) else value


def _without(written: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in written.items() if name != key}


def _line(written: dict[str, Any]) -> str:
    return _encode(written) + "\n"
