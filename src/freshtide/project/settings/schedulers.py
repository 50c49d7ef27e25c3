"""How to schedule, as users write it (`scheduler:` in freshtide.yml and in scenarios), to a Policy.

A name chooses one part and leaves the others at the defaults that go with it; keys and values choose each part apart.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from freshtide.core.errors import Origin, Problem, ProjectError, choices
from freshtide.project.notation.validation import Place, Written, check, chosen, wrong
from freshtide.project.notation.yamlfile import KeyPath, parse_yaml
from freshtide.project.settings import adaptive as adaptivescheduler
from freshtide.scheduling import (
    BATCHING,
    GROUP_AND_RUN,
    ORDERINGS,
    PRP,
    SLACK,
    TARGET_LAGS,
    Allocation,
    Chopping,
    EdfPartitioned,
    GlobalAllocation,
    GroupAndRun,
    Inheritance,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    Policy,
    Proportional,
    Shortage,
    SumInheritance,
    adaptive_policy,
)

_HERE: KeyPath = ("scheduler",)
_DEFAULT = TARGET_LAGS


def read_policy(value: object, place: Place) -> tuple[Policy | None, list[Problem]]:
    """The policy that stands under `scheduler` (the default if there is nothing), or None and what is wrong with it."""
    if value is None:
        return _DEFAULT, []
    if isinstance(value, Mapping):
        return _named(value, place) if "name" in value else _in_parts(value, place)
    name = value.lower() if isinstance(value, str) else ""
    if name in _NAMED:
        return _NAMED[name](), []
    message = f"'{value}' is not a scheduler." if name else "A scheduler is a name, or keys and values."
    way_out = f"{choices(name, _NAMED)} Or choose each part: {{ordering: ..., allocation: ...}}."
    return None, [Problem(message=message, origin=place(_HERE), way_out=way_out)]


def parse_scheduler(text: str, origin: Origin) -> tuple[Policy | None, list[Problem]]:
    """A scheduler as it is written in YAML, on a command line for example."""
    try:
        value = parse_yaml(text, origin.file).value
    except ProjectError as error:
        return None, list(error.problems)
    return read_policy(value, lambda _: origin)


def too_few_tracks(allocation: Allocation, shortage: Shortage, origin: Origin | None = None) -> Problem:
    """What to say where an allocation cannot keep what it promises."""
    others = ", ".join(name for name in _ALLOCATIONS if name not in _PROMISING)
    enough = "" if shortage.tracks_needed is None else f"{shortage.tracks_needed} tracks would do. "
    return Problem(
        message=f"{allocation.name} is not possible: {shortage.reason}.",
        origin=origin,
        way_out=f"{enough}Other allocations work with any number of tracks: {others}.",
    )


_PRP = "prp"


def _going_with(ordering: str) -> Policy:
    """An ordering with the other parts that suit it: those of the papers' are what Golab et al. 2011 found best."""
    return _DEFAULT if ordering == _DEFAULT.ordering else Policy(ordering=ordering)


def _with_ordering(name: str) -> Callable[[], Policy]:
    return lambda: _going_with(name)


_NAMED: Mapping[str, Callable[[], Policy]] = {
    **{name: _with_ordering(name) for name in ORDERINGS},
    GlobalAllocation.name: lambda: Policy(allocation=GlobalAllocation()),
    EdfPartitioned.name: lambda: Policy(allocation=EdfPartitioned()),
    Proportional.name: lambda: Policy(allocation=Proportional()),
    _PRP: lambda: PRP,
    adaptivescheduler.NAME: adaptive_policy,
    GroupAndRun.name: lambda: GROUP_AND_RUN,
}
"""All that a single word can choose."""


def _named(values: Mapping[object, object], place: Place) -> tuple[Policy | None, list[Problem]]:
    """A scheduler by its name, with what it can be told besides."""
    name = values["name"]
    if isinstance(name, str) and name.lower() == adaptivescheduler.NAME:
        return adaptivescheduler.read_adaptive(values, place, _HERE)
    if not isinstance(name, str) or name.lower() not in _NAMED:
        way_out = choices(str(name), _NAMED)
        return None, [Problem(message=f"'{name}' is not a scheduler.", origin=place((*_HERE, "name")), way_out=way_out)]
    if others := [str(key) for key in values if key != "name"]:
        message = f"'{name}' takes no '{others[0]}'."
        way_out = "Leave it out, or choose each part without a name: {ordering: ..., allocation: ...}."
        return None, [Problem(message=message, origin=place((*_HERE, others[0])), way_out=way_out)]
    return _NAMED[name.lower()](), []


def _in_parts(values: Mapping[object, object], place: Place) -> tuple[Policy | None, list[Problem]]:
    written, problems = check(_WrittenPolicy, values, place, within=_HERE)
    others = _DEFAULT if written is None else _going_with(written.ordering)
    allocation, more = _allocation(values.get("allocation", others.allocation.name), place)
    if written is not None:
        more += _chopped_batches(written, place)
    if written is None or allocation is None or more:
        return None, problems + more
    policy = replace(
        others,
        allocation=allocation,
        inheritance=written.inheritance,
        chopping=written.chopping if "chopping" in written.model_fields_set else others.chopping,
        repartition=written.repartition,
        seed=written.seed,
    )
    return policy, []


def _chopped_batches(written: _WrittenPolicy, place: Place) -> list[Problem]:
    if written.ordering not in BATCHING or "chopping" not in written.model_fields_set or written.chopping is None:
        return []
    return [
        Problem(
            message=f"'{written.ordering}' loads all that is pending at once, so its updates cannot be chopped.",
            origin=place((*_HERE, "chopping")),
            way_out=f"Take 'chopping' out, or choose another ordering: {', '.join(sorted(set(ORDERINGS) - BATCHING))}.",
        )
    ]


def _allocation(value: object, place: Place) -> tuple[Allocation | None, list[Problem]]:
    """Each allocation has parameters of its own."""
    within = (*_HERE, "allocation")
    values = value if isinstance(value, Mapping) else {"name": value}
    name = values.get("name")
    model = _ALLOCATIONS.get(name.lower()) if isinstance(name, str) else None
    if model is None:
        message = "'scheduler.allocation.name' is missing." if name is None else f"'{name}' is not an allocation."
        where = (*within, "name") if isinstance(value, Mapping) else within
        return None, [Problem(message=message, origin=place(where), way_out=choices(str(name), _ALLOCATIONS))]
    written, problems = check(model, values, place, within=within)
    return None if written is None else written.allocation(), problems


class _WrittenAllocation(Written):
    name: str

    @abstractmethod
    def allocation(self) -> Allocation: ...


class _WrittenGlobal(_WrittenAllocation):
    def allocation(self) -> Allocation:
        return GlobalAllocation()


class _WrittenEdfPartitioned(_WrittenAllocation):
    aggressive: bool = False

    def allocation(self) -> Allocation:
        return EdfPartitioned(aggressive=self.aggressive)


class _WrittenProportional(_WrittenAllocation):
    aggressive: bool = True
    tracks: Annotated[
        Literal["all", "basic"], BeforeValidator(lambda value: chosen(value, ("all", "basic"), "all or basic"))
    ] = "all"
    k: float = Field(default=1.0, gt=0.0)
    measure: Annotated[
        Literal["execution", "period"],
        BeforeValidator(lambda value: chosen(value, ("execution", "period"), "a measure of similarity")),
    ] = "execution"

    def allocation(self) -> Allocation:
        return Proportional(aggressive=self.aggressive, tracks=self.tracks, k=self.k, measure=self.measure)


class _WrittenGroupAndRun(_WrittenAllocation):
    def allocation(self) -> Allocation:
        return GroupAndRun()


_ALLOCATIONS: Mapping[str, type[_WrittenAllocation]] = {
    GlobalAllocation.name: _WrittenGlobal,
    EdfPartitioned.name: _WrittenEdfPartitioned,
    Proportional.name: _WrittenProportional,
    GroupAndRun.name: _WrittenGroupAndRun,
}
_PROMISING = (EdfPartitioned.name, GroupAndRun.name)
"""Those that need enough tracks to keep what they promise."""
_INHERITANCES: Mapping[str, Inheritance] = {
    inheritance.name: inheritance for inheritance in (NoInheritance(), SumInheritance(), MaxInheritance())
}
_MAX_PLUS = "{max-plus: 2}"
_MOST_PER_LEVEL = 100.0


def _inheritance(value: object) -> Inheritance:
    if isinstance(value, Mapping):
        factor = value.get(MaxPlusInheritance.name)
        if list(value) != [MaxPlusInheritance.name] or isinstance(factor, bool) or not isinstance(factor, int | float):
            raise wrong("An inheritance with a parameter is max-plus.", way_out=f"Write it like {_MAX_PLUS}.")
        # Below 1 a table would count for less than what is computed from it. It is applied once for each level.
        if not 1.0 <= factor <= _MOST_PER_LEVEL:
            raise wrong(
                f"The factor of max-plus must be a number from 1 to {_MOST_PER_LEVEL:g}, not '{factor}'.",
                way_out=f"Write it like {_MAX_PLUS}.",
            )
        return MaxPlusInheritance(k=float(factor))
    if value == MaxPlusInheritance.name:
        raise wrong("The inheritance max-plus needs its factor.", way_out=f"Write it like {_MAX_PLUS}.")
    name = value.lower() if isinstance(value, str) else value
    if name not in _INHERITANCES:
        way_out = choices(str(value), [*_INHERITANCES, _MAX_PLUS])
        raise wrong(f"'{value}' is not an inheritance.", way_out=way_out)
    return _INHERITANCES[str(name)]


def _chopping(value: object) -> Chopping:
    if value is None or (isinstance(value, str) and value.lower() == "none"):
        return None
    if isinstance(value, str) and value.lower() == SLACK:
        return SLACK
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1.0 <= value < float("inf"):
        raise wrong(
            f"'{value}' does not say how many periods an update may load.",
            way_out="Write a number of at least 1, slack, or none.",
        )
    return float(value)


class _WrittenPolicy(Written):
    ordering: Annotated[str, BeforeValidator(lambda value: chosen(value, tuple(ORDERINGS), "an ordering"))] = (
        _DEFAULT.ordering
    )
    # Read apart, because its keys depend on its name.
    allocation: Any = None
    inheritance: Annotated[Any, BeforeValidator(_inheritance)] = _DEFAULT.inheritance
    chopping: Annotated[Chopping, BeforeValidator(_chopping)] = _DEFAULT.chopping
    repartition: float = Field(default=_DEFAULT.repartition, ge=1.0)
    seed: int = _DEFAULT.seed
