"""`scheduler: {name: adaptive, ...}` as users write it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from freshtide.core.errors import Origin, Problem, choices
from freshtide.guarantees import Breach
from freshtide.project.notation.validation import Place, Written, check, chosen, positive, wrong
from freshtide.project.notation.yamlfile import KeyPath
from freshtide.scheduling import Adaptive, Policy, adaptive_policy

NAME = "adaptive"
_FORMULAS = ("fastest", "together")
_ARBITRATIONS = ("share", "priority")
_COSTS = ("average", "worst")


def read_adaptive(
    values: Mapping[object, object], place: Place, within: KeyPath
) -> tuple[Policy | None, list[Problem]]:
    written, problems = check(_WrittenAdaptive, values, place, within=within)
    if written is None:
        return None, problems
    recovery, threshold = written.recovery, written.threshold
    settings = Adaptive(
        recovery="fastest" if isinstance(recovery, Mapping) else recovery,
        recovery_of=recovery if isinstance(recovery, Mapping) else {},
        threshold=None if isinstance(threshold, Mapping) else threshold,
        threshold_of=threshold if isinstance(threshold, Mapping) else {},
        arbitration=written.arbitration,
        costs=written.costs,
        early=written.early,
    )
    return adaptive_policy(settings), []


def unknown_tables(policy: Policy, tables: Iterable[str], place: Place) -> list[Problem]:
    """Recovery periods and thresholds of tables that there are not."""
    if policy.adaptive is None:
        return []
    known = list(tables)
    given = {"recovery": policy.adaptive.recovery_of, "threshold": policy.adaptive.threshold_of}
    return [
        Problem(
            message=f"There is no table '{name}' to give a {key} to.",
            origin=place(("scheduler", key, name)),
            way_out=choices(name, known),
        )
        for key, by_table in given.items()
        for name in by_table
        if name not in known
    ]


def not_to_be_kept(breaches: Iterable[Breach], origin: Origin | None = None) -> list[Problem]:
    """What to say where tables ask for more than can be reserved for them."""
    return [
        Problem(message=f"{NAME} is not possible: {breach.reason}.", origin=origin, way_out=breach.way_out)
        for breach in breaches
    ]


def _by_table(setting: str, value: Mapping[Any, object]) -> dict[str, float]:
    return {str(table): positive(seconds, f"{setting}.{table}") for table, seconds in value.items()}


def _recovery(value: object) -> str | float | dict[str, float]:
    if isinstance(value, Mapping):
        return _by_table("recovery", value)
    if isinstance(value, str) and value.lower() in _FORMULAS:
        return value.lower()
    try:
        return positive(value, "recovery")
    except ValueError as error:
        way_out = "Write fastest, together, a duration, or durations by table: {a: 90s}."
        raise wrong(f"'{value}' is not a recovery period.", way_out=way_out) from error


def _threshold(value: object) -> float | dict[str, float]:
    return _by_table("threshold", value) if isinstance(value, Mapping) else positive(value, "threshold")


class _WrittenAdaptive(Written):
    name: str
    recovery: Annotated[Any, BeforeValidator(_recovery)] = "fastest"
    threshold: Annotated[Any, BeforeValidator(_threshold)] = None
    arbitration: Annotated[
        Literal["share", "priority"],
        BeforeValidator(lambda value: chosen(value, _ARBITRATIONS, "a rule of who recovers first")),
    ] = "share"
    costs: Annotated[
        Literal["average", "worst"], BeforeValidator(lambda value: chosen(value, _COSTS, "a kind of costs"))
    ] = "worst"
    early: bool = True
