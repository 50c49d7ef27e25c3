"""Feeds as users write them, in feeds/*.yml or as keyword arguments, to core Feeds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Annotated, Any, cast, get_type_hints

from pydantic import BeforeValidator, Field, PlainValidator, create_model

from freshtide.core.durations import format_duration, parse_duration
from freshtide.core.errors import DurationError, FreshtideError, Problem, TimestampError
from freshtide.core.feeds import (
    FUTURE_LIMIT,
    UTC_ZONE,
    Column,
    DeclaredRhythm,
    Duplicates,
    Feed,
    FeedContent,
    FolderSource,
    Format,
    RowTime,
    SchemaChange,
    Settling,
    TimestampFrom,
)
from freshtide.core.instants import micros_of, parse_instant, seconds
from freshtide.feeds import NamePatternError, TimeFormatError, check_feed
from freshtide.feeds.formats import FORMATS, FileFormat, OptionError
from freshtide.project.feeds.columns import read_schema
from freshtide.project.feeds.streamfeed import is_stream, read_stream
from freshtide.project.feeds.timecolumns import WrittenTime, read_time
from freshtide.project.notation.names import name_fault
from freshtide.project.notation.sizes import parse_size
from freshtide.project.notation.validation import (
    Duration,
    FutureLimit,
    LocalPath,
    Period,
    Place,
    TimeZone,
    Written,
    check,
    chosen,
    local_path,
    plain,
    understood,
    wrong,
)

_FORMATS = {name: each for each in FORMATS for name in (each.options.name, *each.aliases)}
"""By all names that users may write."""


def read_feed(values: object, place: Place, *, default_name: str | None = None) -> tuple[Feed | None, list[Problem]]:
    """The feed, or None and everything that is wrong with it."""
    if is_stream(values):
        return read_stream(values, place, default_name=default_name, of_files=_WrittenFeed.model_fields)
    written, problems = check(_WrittenFeed, values, place)
    columns: tuple[Column, ...] = ()
    if isinstance(values, Mapping) and "schema" in values:
        columns, schema_problems = read_schema(values["schema"], place)
        problems += schema_problems
    name = written.name or default_name if written else None
    if written is None or not name:
        return None, problems or [_at(place, "name", "'name' is missing.", "Give the feed a name.")]
    if misnamed := name_fault(name):
        problems.append(_at(place, "name", *misnamed))
    time, time_problems = read_time(_time(written), columns, place)
    problems += time_problems + _reference_problems(written, place)
    problems += _misplaced_options(written, place) + _rhythm_problems(written, place)
    if problems:
        return None, problems
    feed = _feed(written, name, columns, time, place)
    fault = _unsatisfiable(feed, place)
    return (feed, []) if fault is None else (None, [fault])


def _unsatisfiable(feed: Feed, place: Place) -> Problem | None:
    """What no file of the feed could ever satisfy."""
    try:
        check_feed(feed)
    except OptionError as error:
        return _at(place, error.option, error.message, error.way_out or "")
    except FreshtideError as error:
        keys = {NamePatternError: "timestamp", TimeFormatError: "time_format"}
        return _at(place, keys.get(type(error), "name"), error.message, error.way_out or "")
    return None


def _feed(written: _WrittenFile, name: str, columns: tuple[Column, ...], time: RowTime, place: Place) -> Feed:
    is_replaced = written.content is FeedContent.NEWEST
    timestamp_from, name_pattern = written.timestamp or (_stamped_by_itself(written), None)
    return Feed(
        name=name,
        schema=columns,
        time=replace(time, lateness=written.lateness, future_limit=written.future_limit),
        source=FolderSource(
            path=written.path,
            timestamp_from=timestamp_from,
            name_pattern=name_pattern,
            settling=written.settle,
            punctuation=written.punctuation,
            # What was there before may come back: then it is the newest again.
            duplicates=written.duplicates or (Duplicates.LOAD if is_replaced else Duplicates.SKIP),
            content=written.content,
            follow_links=written.follow_links,
            max_size=written.max_size,
            max_rows=written.max_rows,
        ),
        format=_options(written),
        rhythm=DeclaredRhythm(
            period=written.period,
            phase=written.phase,
            jitter=written.jitter,
            timestamp_jitter=written.timestamp_jitter,
        ),
        on_schema_change=written.on_schema_change,
        time_zone=written.time_zone,
        origin=place(()),
    )


def _time(written: _WrittenFile) -> WrittenTime:
    return WrittenTime(
        column=written.time_column,
        format=written.time_format,
        expression=written.time,
        zone=written.time_zone,
        timestamp_from=written.timestamp[0] if written.timestamp is not None else _stamped_by_itself(written),
    )


def _stamped_by_itself(written: _WrittenFile) -> TimestampFrom:
    """Where the time stamps of files come from unless the feed says so."""
    is_reference = written.content is FeedContent.NEWEST or (written.time_column is None and written.time is None)
    return TimestampFrom.MODIFIED if is_reference else TimestampFrom.CONTENT


def _options(written: _WrittenFile) -> Format:
    options = written.format.options
    return options(**{option.name: getattr(written, option.name) for option in fields(options)})


def _misplaced_options(written: _WrittenFile, place: Place) -> list[Problem]:
    own = {option.name for option in fields(written.format.options)}
    return [
        _at(
            place,
            key,
            f"'{key}' is for {' and '.join(_titles_with(key))} files, and this feed's format is "
            f"{written.format.options.name}.",
            "Take it out.",
        )
        for key in _OPTIONS
        if key in written.model_fields_set - own
    ]


def _titles_with(option: str) -> list[str]:
    """What the formats are called that have an option."""
    return [each.title for each in FORMATS if option in (of.name for of in fields(each.options))]


def _reference_problems(written: _WrittenFile, place: Place) -> list[Problem]:
    """What is said about the times of rows that have none, or that go with the file that they came in."""
    problems = []
    if written.time_column is None and written.time is None:
        problems += [
            _at(
                place,
                key,
                f"'{key}' is about the time of rows, and there is no 'time_column'.",
                "Name the column, or take it out: without a time column the rows are reference data.",
            )
            for key in ("time_format", "lateness", "punctuation")
            if getattr(written, key) is not None
        ]
        if written.timestamp is not None and written.timestamp[0] is TimestampFrom.CONTENT:
            message = "The time stamp of a file cannot come from its content: there is no 'time_column'."
            problems.append(_at(place, "timestamp", message, "Write modified, or take it out, which says the same."))
    if written.content is FeedContent.NEWEST:
        problems += [
            _at(
                place,
                key,
                f"'{key}' is for files that add up, and of this feed the newest file is all that there is.",
                "Take it out, or declare `content: all`.",
            )
            for key in ("lateness", "punctuation")
            if (written.time_column is not None or written.time is not None) and getattr(written, key) is not None
        ]
        if written.duplicates is Duplicates.SKIP:
            message = "A file with known content cannot be skipped where the newest file is all that there is."
            problems.append(_at(place, "duplicates", message, "Take it out: what was there before may come back."))
    return problems


def _rhythm_problems(written: _WrittenFile, place: Place) -> list[Problem]:
    """Phase and jitter say where in a period files come, so they need one and have to fit into it."""
    if written.period is None:
        return [
            _at(
                place,
                key,
                f"'{key}' says when in its period a file comes, and there is no 'period'.",
                "Declare it too.",
            )
            for key in ("phase", "jitter")
            if getattr(written, key) is not None
        ]
    if written.jitter is not None and written.jitter > written.period:
        long, period = format_duration(written.jitter), format_duration(written.period)
        message = f"The jitter of {long} is longer than the period of {period}."
        return [_at(place, "jitter", message, f"Write at most {period}: then a file may come at any time.")]
    return []


def _at(place: Place, key: str, message: str, way_out: str) -> Problem:
    return Problem(message=message, origin=place((key,)), way_out=way_out)


def _format(value: object) -> FileFormat:
    return _FORMATS[chosen(value, tuple(_FORMATS), "a format")]


def _timestamp(value: object) -> tuple[TimestampFrom, str | None]:
    if isinstance(value, Mapping) and list(value) == ["name"] and isinstance(value["name"], str):
        return TimestampFrom.NAME, _name_pattern(value["name"])
    if isinstance(value, str) and value in ("content", "modified"):
        return TimestampFrom(value), None
    raise wrong(
        "'timestamp' says where the time stamp of a file comes from.",
        way_out='Write content, modified or {name: "cpu_%Y%m%d%H%M.csv"}.',
    )


def _name_pattern(pattern: str) -> str:
    codes = re.findall(r"%(.?)", pattern.replace("%%", ""))
    if not codes:
        raise wrong(
            f"The file name pattern '{pattern}' holds no time.",
            way_out="Put strptime codes where the file names have the time, like cpu_%Y%m%d%H%M.csv.",
        )
    return pattern


def _settling(value: object) -> Settling:
    if isinstance(value, Mapping):
        marker = value.get("marker")
        if list(value) != ["marker"] or not isinstance(marker, str) or "{name}" not in marker or "/" in marker:
            raise wrong(
                "A marker is a file name that holds {name}, the name of the file it stands for.",
                way_out='Write {marker: "{name}.done"}.',
            )
        return Settling(marker=marker)
    if value == "renamed":
        return Settling(quiet=0.0)
    return Settling(quiet=understood(parse_duration, plain(value, "a duration, renamed or {marker: ...}")))


def _phase(value: object) -> float:
    """An instant. A duration is one too: it counts from the epoch, as full hours and UTC days do."""
    if isinstance(value, datetime):
        return seconds(micros_of(value))
    if isinstance(value, date):
        return seconds(micros_of(datetime.combine(value, time_of_day(), tzinfo=UTC)))
    text = plain(value, "a duration or a time stamp")
    for read in (parse_duration, lambda written: parse_instant(str(written))):
        try:
            return read(text)
        except (DurationError, TimestampError):
            continue
    raise wrong(
        f"'{text}' is neither a duration nor a time stamp.",
        way_out="Write 5m for five minutes into each period, or the moment of any file, like 2026-05-01T06:00:00Z.",
    )


def _size(value: object) -> Any:
    return understood(parse_size, plain(value, "a size"))


def _path(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise wrong("'path' is empty.", way_out="Write a folder with a pattern, like landing/cpu/*.csv.")
    return local_path(value)


class _WrittenFile(Written):
    name: str | None = None
    path: Annotated[str, BeforeValidator(_path)]
    format: Annotated[FileFormat, PlainValidator(_format)]
    # Read apart, column by column; the alias keeps clear of pydantic's own `schema`.
    columns: Any = Field(alias="schema")
    time_column: str | None = None
    time_format: str | None = None
    time: str | None = None
    time_zone: TimeZone = UTC_ZONE
    timestamp: Annotated[tuple[TimestampFrom, str | None], BeforeValidator(_timestamp)] | None = None
    content: Annotated[
        FeedContent, BeforeValidator(lambda value: FeedContent(chosen(value, tuple(FeedContent), "all or newest")))
    ] = FeedContent.ALL
    settle: Annotated[Settling, BeforeValidator(_settling)] = Settling()
    lateness: Duration | None = None
    punctuation: LocalPath | None = None
    future_limit: FutureLimit = FUTURE_LIMIT
    period: Period | None = None
    phase: Annotated[float | None, BeforeValidator(_phase)] = None
    jitter: Duration | None = None
    timestamp_jitter: Duration | None = None
    duplicates: Annotated[
        Duplicates | None, BeforeValidator(lambda value: Duplicates(chosen(value, tuple(Duplicates), "skip or load")))
    ] = None
    on_schema_change: Annotated[
        SchemaChange,
        BeforeValidator(lambda value: SchemaChange(chosen(value, tuple(SchemaChange), "fail or evolve"))),
    ] = SchemaChange.FAIL
    follow_links: bool = False
    max_size: Annotated[int | None, BeforeValidator(_size)] = None
    max_rows: Annotated[int | None, Field(gt=0)] = None


_OPTIONS: dict[str, tuple[Any, Any]] = {
    option.name: (get_type_hints(each.options)[option.name], option.default)
    for each in FORMATS
    for option in fields(each.options)
}
"""The type and the default of every option that some format has."""
_WrittenFeed = create_model("_WrittenFeed", __base__=_WrittenFile, **cast(Any, _OPTIONS))
