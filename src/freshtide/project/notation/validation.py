"""Checking what users wrote against pydantic models, with problems that name the key and the way out.

Models raise `wrong(...)` in their validators. `check` runs a model over plain values (from YAML or from
keyword arguments) and turns everything pydantic finds into Problems, each at the place of its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from freshtide.core.durations import parse_duration
from freshtide.core.errors import FreshtideError, Origin, Problem, choices
from freshtide.core.paths import path_fault
from freshtide.feeds import local_times
from freshtide.project.notation.yamlfile import KeyPath

Place = Callable[[KeyPath], Origin]
"""From a path of keys to the place in the user's project that it was written at."""


LEAST_PRIORITY, MOST_PRIORITY = 1e-6, 1e6
"""Twelve orders of magnitude between two tables are more than anybody can tell apart, and no sum of them overflows."""
SHORTEST_PERIOD = 0.01
_LONGEST_QUOTE = 40


class Written(BaseModel):
    """Base of the models of what users write: no unknown keys, nothing converted on the quiet."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )


ModelT = TypeVar("ModelT", bound=Written)


def wrong(message: str, *, way_out: str | None = None) -> PydanticCustomError:
    """The error for validators to raise."""
    # Braces would be taken as places to fill in.
    return PydanticCustomError("freshtide", "{message}", {"message": message, "way_out": way_out})


def understood(read: Callable[[Any], Any], text: Any) -> Any:
    """Read a value with a function of the core, whose error becomes one of this model."""
    try:
        return read(text)
    except FreshtideError as error:
        raise wrong(error.message, way_out=error.way_out) from error


def plain(value: object, what: str) -> str | int | float:
    """A word or a number, as it can be written for a duration or a size."""
    if isinstance(value, str | int | float):
        return value
    raise wrong(f"{what.capitalize()} is expected here, not {_shown(value)}.", way_out="Write one word or number.")


def chosen(value: Any, allowed: tuple[str, ...], what: str) -> str:
    """One of a few words, or an error that suggests the nearest and lists all."""
    if isinstance(value, str) and value.lower() in allowed:
        return value.lower()
    raise wrong(f"'{value}' is not {what}.", way_out=choices(str(value), allowed))


def local_path(value: Any) -> Any:
    """A path of this machine."""
    fault = path_fault(value) if isinstance(value, str) else None
    if fault is not None:
        raise wrong(fault[0], way_out=fault[1])
    return value


def _duration(value: object) -> Any:
    return understood(parse_duration, plain(value, "a duration"))


def positive(value: object, setting: str) -> float:
    """The seconds of a time that passes."""
    seconds: float = _duration(value)
    if not seconds > 0:
        raise wrong(
            f"'{setting}' must be longer than 0s, not '{value}'.",
            way_out="Write it like 90s, 5m, 1h30m or '15 minutes'.",
        )
    return seconds


def _positive_duration(value: object, info: ValidationInfo) -> float:
    return positive(value, info.field_name or "a duration")


def _period(value: object) -> float:
    seconds = positive(value, "period")
    if seconds < SHORTEST_PERIOD:
        shortest = f"{1_000.0 * SHORTEST_PERIOD:g}ms"
        raise wrong(
            f"'period' must be {shortest} at least, not '{value}': no update is shorter.",
            way_out=f"Write {shortest}, or how often files really come: all that are there are loaded together.",
        )
    return seconds


def _priority(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else 0.0
    except (ValueError, OverflowError):
        number = 0.0
    if not LEAST_PRIORITY <= number <= MOST_PRIORITY or isinstance(value, bool):
        raise wrong(
            f"'{_shortened(value)}' is not a priority.",
            way_out=f"A priority is a number from {LEAST_PRIORITY:.6f} to {MOST_PRIORITY:,.0f}; with 0.01 a table "
            "counts for a hundredth of one with 1.",
        )
    return number


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def _future_limit(value: object) -> Any:
    return None if value in ("none", None) else understood(parse_duration, plain(value, "a duration or none"))


def _time_zone(value: object) -> Any:
    if not isinstance(value, str):
        raise wrong("'time_zone' is the name of a time zone.", way_out="Write it like Europe/Berlin.")
    understood(local_times, value)
    return value


Duration = Annotated[float, BeforeValidator(_duration)]
PositiveDuration = Annotated[float, BeforeValidator(_positive_duration)]
Period = Annotated[float, BeforeValidator(_period)]
Priority = Annotated[float, BeforeValidator(_priority)]
FutureLimit = Annotated[float | None, BeforeValidator(_future_limit)]
TimeZone = Annotated[str, BeforeValidator(_time_zone)]
LocalPath = Annotated[str, BeforeValidator(local_path)]


def check(
    model: type[ModelT], values: object, place: Place, *, within: KeyPath = ()
) -> tuple[ModelT | None, list[Problem]]:
    """The checked values, or None and everything that is wrong with them; `within` is where in the file they stand."""
    if not isinstance(values, Mapping):
        message = "Nothing is declared here." if values is None else "Keys and values are expected here."
        return None, [Problem(message=message, origin=place(within), way_out=_keys_of(model))]
    try:
        return model.model_validate(dict(values)), []
    except ValidationError as error:
        return None, [_problem(model, details, place, within) for details in error.errors(include_url=False)]


def _problem(model: type[Written], details: ErrorDetails, place: Place, within: KeyPath) -> Problem:
    path = details["loc"]
    key = ".".join(str(part) for part in (*within, *path)) or "this"
    context = details.get("ctx", {})
    way_out: str | None = None
    match details["type"]:
        case "freshtide":
            message, way_out = details["msg"], context.get("way_out")
        case "extra_forbidden":
            message, way_out = f"There is no setting '{key}'.", choices(str(path[-1]), _names(model, path))
        case "missing":
            message, way_out = f"'{key}' is missing.", _keys_of(model) if len(path) > 1 else None
        case "string_type":
            message = f"'{key}' must be text, not {_shown(details['input'])}."
            way_out = "Put it in quotes." if not isinstance(details["input"], list | dict) else None
        case "int_type" | "bool_type" | "float_type" | "dict_type" | "list_type" | "model_type":
            message = f"'{key}' must be {_KINDS[details['type']]}, not {_shown(details['input'])}."
        case "greater_than_equal":
            message = f"'{key}' must be at least {context['ge']:g}, not {_shown(details['input'])}."
        case "greater_than":
            message = f"'{key}' must be more than {context['gt']:g}, not {_shown(details['input'])}."
        case "less_than_equal":
            message = f"'{key}' must be at most {context['le']:g}, not {_shown(details['input'])}."
        case "less_than":
            message = f"'{key}' must be less than {context['lt']:g}, not {_shown(details['input'])}."
        case "too_short":
            message = f"'{key}' must not be empty."
        case "finite_number":
            message = f"'{key}' must be a finite number, not {_shown(details['input'])}."
        case _:
            message = f"'{key}' is wrong: {details['msg']}."
    return Problem(message=message, origin=place((*within, *path)), way_out=way_out)


_KINDS = {
    "int_type": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "dict_type": "keys and values",
    "model_type": "keys and values",
    "list_type": "a list",
}


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "keys and values"
    return "a list" if isinstance(value, list) else f"'{value}'"


def _names(model: type[Written], path: KeyPath) -> tuple[str, ...]:
    """The keys that are known where the path ends."""
    inner: type[BaseModel] = model
    for part in path[:-1]:
        field = inner.model_fields.get(str(part))
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            break
        inner = field.annotation
    return _keys(inner)


def _keys_of(model: type[Written]) -> str:
    return choices("", _keys(model))


def _keys(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())
