"""Settings of a table: TBLPROPERTIES in SQL, keyword arguments of the decorators in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from freshtide.core.durations import format_duration, parse_duration
from freshtide.core.errors import DurationError, Problem
from freshtide.core.grains import Grain
from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.core.tables import Emit, Maintenance
from freshtide.project.notation.names import name_fault
from freshtide.project.notation.validation import (
    Duration,
    Period,
    Place,
    PositiveDuration,
    Priority,
    Written,
    check,
    chosen,
    plain,
    understood,
    wrong,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """What a declaration says about its table, beyond the query. None: not said."""

    priority: float = 1.0
    target_lag: float | None = None
    period: float | None = None
    maintain: Maintenance | None = None
    time_column: str | None = None
    grain: Grain | None = None
    lookback: float | None = None
    emit: Emit | None = None
    partition_by: tuple[str, ...] = ()
    update_group: str | None = None
    flow: str | None = None
    reference: bool | None = None
    update_key: tuple[str, ...] = ()
    key_order: KeyOrder | None = None
    window: float | None = None
    slide: float | None = None
    windows: WindowSemantics | None = None
    comment: str | None = None


def read_properties(values: Mapping[str, object], place: Place) -> tuple[Properties | None, list[Problem]]:
    """The properties, or None and everything that is wrong with them."""
    written, problems = check(_WrittenProperties, values, place)
    if written is None:
        return None, problems
    properties = Properties(**{key: getattr(written, key) for key in _WrittenProperties.model_fields})
    problems = list(_lonely_settings(properties, place))
    return (None, problems) if problems else (properties, [])


def _lonely_settings(properties: Properties, place: Place) -> Iterator[Problem]:
    """Settings of update tables that say nothing without another one."""
    needs = [
        ("key_order", properties.key_order, "update_key", properties.update_key, _SAY_THE_KEY),
        ("window", properties.window, "update_key", properties.update_key, _SAY_THE_KEY),
        (
            "slide",
            properties.slide,
            "window",
            properties.window,
            "Declare the size of the windows too, or take it out.",
        ),
        (
            "windows",
            properties.windows,
            "window",
            properties.window,
            "Declare the size of the windows too, or take it out.",
        ),
    ]
    for key, value, needed, other, way_out in needs:
        if value is not None and not other:
            yield Problem(message=f"'{key}' says nothing without '{needed}'.", origin=place((key,)), way_out=way_out)
    if properties.window is not None and properties.slide is not None and properties.slide > properties.window:
        slide, window = format_duration(properties.slide), format_duration(properties.window)
        yield Problem(
            message=f"Windows of {window} that slide by {slide} leave rows between them out.",
            origin=place(("slide",)),
            way_out=f"Let them slide by at most {window}.",
        )


_SAY_THE_KEY = "Declare the columns of the key too, like 'update_key' = 'symbol', or take it out."


def _maintain(value: object) -> Maintenance:
    return Maintenance(chosen(value, tuple(Maintenance), "a way to maintain a table"))


def _emit(value: object) -> Emit:
    return Emit(chosen(value, tuple(Emit), "a way to emit buckets"))


def _grain(value: object) -> Grain:
    if isinstance(value, str) and (grain := Grain.of_unit(value.strip())):
        return grain
    try:
        seconds = parse_duration(value) if isinstance(value, str | int | float) else 0.0
    except DurationError:
        seconds = 0.0
    if not seconds > 0:
        raise wrong(
            f"'{value}' is not a grain.",
            way_out="Write a duration like 15m, or minute, hour, day, week, month, quarter or year.",
        )
    return Grain.of_seconds(seconds)


_COLUMNS = "Write names with commas between them, like 'region, day'."


def _columns(setting: str) -> Callable[[object], tuple[str, ...]]:
    """Reads a setting that lists columns, with commas between them or as a list."""

    def read(value: object) -> tuple[str, ...]:
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, Iterable):
            raise wrong(f"'{setting}' lists columns.", way_out=_COLUMNS)
        columns = tuple(str(name).strip() for name in names)
        if not all(columns):
            raise wrong(f"'{setting}' holds an empty name.", way_out=_COLUMNS)
        if len({column.lower() for column in columns}) < len(columns):
            raise wrong(f"'{setting}' names a column twice.", way_out="Name each column once.")
        return columns

    return read


def _update_key(value: object) -> tuple[str, ...]:
    columns = _columns("update_key")(value)
    if not columns:
        raise wrong("'update_key' names no column.", way_out="Name the columns by which rows supersede each other.")
    return columns


def _key_order(value: object) -> KeyOrder:
    return KeyOrder(chosen(value, tuple(KeyOrder), "an order of keys"))


def _slide(value: object) -> float:
    seconds: float = understood(parse_duration, plain(value, "a duration"))
    if not seconds > 0:
        raise wrong("Windows that slide by zero never move on.", way_out="Write by how much, like 1m.")
    return seconds


def _windows(value: object) -> WindowSemantics:
    return WindowSemantics(chosen(value, tuple(WindowSemantics), "a way to commit to windows"))


def _group(value: object) -> str:
    fault = name_fault(value) if isinstance(value, str) else ("'update_group' is a name.", None)
    if fault is not None:
        raise wrong(fault[0], way_out=fault[1])
    # Names do not tell upper from lower case.
    return str(value).lower()


def _reference(value: object) -> bool:
    if isinstance(value, bool):
        return value
    return chosen(value, ("true", "false"), "true or false") == "true"


def _text(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


class _WrittenProperties(Written):
    priority: Priority = 1.0
    target_lag: PositiveDuration | None = None
    period: Period | None = None
    maintain: Annotated[Maintenance, BeforeValidator(_maintain)] | None = None
    time_column: Annotated[str, BeforeValidator(_text)] | None = None
    grain: Annotated[Grain, BeforeValidator(_grain)] | None = None
    lookback: Duration | None = None
    emit: Annotated[Emit, BeforeValidator(_emit)] | None = None
    partition_by: Annotated[tuple[str, ...], BeforeValidator(_columns("partition_by"))] = ()
    update_group: Annotated[str, BeforeValidator(_group)] | None = None
    flow: Annotated[str, BeforeValidator(_text)] | None = None
    reference: Annotated[bool, BeforeValidator(_reference)] | None = None
    update_key: Annotated[tuple[str, ...], BeforeValidator(_update_key)] = ()
    key_order: Annotated[KeyOrder, BeforeValidator(_key_order)] | None = None
    window: PositiveDuration | None = None
    slide: Annotated[float, BeforeValidator(_slide)] | None = None
    windows: Annotated[WindowSemantics, BeforeValidator(_windows)] | None = None
    comment: str | None = None
