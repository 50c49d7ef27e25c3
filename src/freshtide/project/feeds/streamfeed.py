"""Feeds that bring single rows: JSON lines over TCP, or what a Python function yields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from freshtide.core.errors import FreshtideError, Problem
from freshtide.core.feeds import FUTURE_LIMIT, UTC_ZONE, Column, Feed, GeneratorSource, SocketSource, StreamSource
from freshtide.core.secrets import hide
from freshtide.feeds import check_time_format
from freshtide.feeds.formats import JsonFormat
from freshtide.project.feeds.columns import read_schema
from freshtide.project.feeds.timecolumns import WrittenTime, read_time
from freshtide.project.notation.names import name_fault
from freshtide.project.notation.validation import FutureLimit, Place, PositiveDuration, TimeZone, Written, check, wrong
from freshtide.project.tables.functions import fingerprint

_SOURCES = ("listen", "connect", "generator")
_LIMITS = ("secret", "connections", "idle")
_LOOPBACK = "127.0.0.1"
_LARGEST_PORT = 65_535


def is_stream(values: object) -> bool:
    """Whether what is written for a feed says where single rows come from."""
    return isinstance(values, Mapping) and any(key in values for key in _SOURCES)


def read_stream(
    values: Any, place: Place, *, default_name: str | None, of_files: Collection[str]
) -> tuple[Feed | None, list[Problem]]:
    """The feed, or None and everything that is wrong with it; `of_files` are the settings of feeds of files."""
    problems = [
        _at(place, key, f"'{key}' is about files, and this feed brings single rows.", "Take it out.")
        for key in values
        if key in of_files and key not in _KEYS
    ]
    of_stream = {key: value for key, value in values.items() if key in _KEYS or key not in of_files}
    written, more = check(_WrittenStream, of_stream, place)
    problems += more
    columns: tuple[Column, ...] = ()
    if "schema" in values:
        columns, schema_problems = read_schema(values["schema"], place)
        problems += schema_problems
    name = written.name or default_name if written else None
    if written is None or not name:
        return None, problems or [_at(place, "name", "'name' is missing.", "Give the feed a name.")]
    if misnamed := name_fault(name):
        problems.append(_at(place, "name", *misnamed))
    said = [key for key in _SOURCES if getattr(written, key) is not None]
    if len(said) > 1:
        message = f"The feed has both '{said[0]}' and '{said[1]}', but its rows come from one place."
        problems.append(_at(place, said[1], message, "Take one of them out, or make two feeds."))
    as_written = WrittenTime(column=written.time_column, format=written.time_format, zone=written.time_zone)
    time, time_problems = read_time(as_written, columns, place)
    problems += time_problems + _format_problems(written.time_format, place)
    source, limit_problems = _limited(getattr(written, said[0]), written, place) if said else (None, [])
    problems += limit_problems
    if problems or source is None:
        return None, problems
    feed = Feed(
        name=name,
        schema=columns,
        time=replace(time, future_limit=written.future_limit),
        source=source,
        format=JsonFormat(),
        time_zone=written.time_zone,
        origin=place(()),
    )
    return feed, []


def shared_addresses(feeds: Iterable[Feed]) -> list[Problem]:
    """Feeds that would listen where another one listens."""
    problems: list[Problem] = []
    first: dict[tuple[str, int], Feed] = {}
    for feed in feeds:
        source = feed.source
        if not isinstance(source, SocketSource) or source.connect:
            continue
        other = first.setdefault((source.host, source.port), feed)
        if other is not feed:
            message = f"The feed '{feed.name}' listens on {source.host}:{source.port}, as the feed '{other.name}' does."
            problems.append(Problem(message=message, origin=feed.origin, way_out="Give one of them another port."))
    return problems


def _format_problems(time_format: str | None, place: Place) -> list[Problem]:
    try:
        check_time_format(time_format)
    except FreshtideError as error:
        return [_at(place, "time_format", error.message, error.way_out or "")]
    return []


def _at(place: Place, key: str, message: str, way_out: str | None) -> Problem:
    return Problem(message=message, origin=place((key,)), way_out=way_out)


def _address(*, connect: bool) -> Callable[[object], StreamSource]:
    def read(value: object) -> StreamSource:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        host, _, port = str(value).rpartition(":") if isinstance(value, str) or is_number else ("", "", "")
        bare = (host.removeprefix("[").removesuffix("]") if host.startswith("[") else host).strip()
        if not bare and not connect:
            # Whoever wants others to reach it has to say so.
            bare = _LOOPBACK
        if not bare or not port.isdecimal() or not 0 < int(port) <= _LARGEST_PORT:
            raise wrong(
                f"'{value}' is not an address.",
                way_out=f"Write a host and a port up to {_LARGEST_PORT}, like localhost:9009.",
            )
        return SocketSource(host=bare, port=int(port), connect=connect)

    return read


def _secret(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        # Its own text is told to nobody.
        raise wrong("'secret' is a line of text.", way_out="Write a text, or ${NAME} of the environment.")
    hide(value.strip())
    return value.strip()


def _connections(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise wrong(f"'{value}' is not a number of connections.", way_out="Write a whole number above 0, like 100.")
    return value


def _limited(source: StreamSource, written: _WrittenStream, place: Place) -> tuple[StreamSource, list[Problem]]:
    """A source with what is said about who may connect to it."""
    said = {key: value for key in _LIMITS if (value := getattr(written, key)) is not None}
    if isinstance(source, SocketSource):
        return replace(source, **said), []
    message = "'{}' is about connections, and a generator has none."
    return source, [_at(place, key, message.format(key), "Take it out.") for key in said]


def _generator(value: object) -> StreamSource:
    if not callable(value):
        raise wrong(
            "'generator' is a Python function that yields rows.",
            way_out="Declare the feed in Python: feed(..., generator=function).",
        )
    if _parameters(value):
        raise wrong("The generator has parameters, and nothing is passed to it.", way_out="Give them default values.")
    return GeneratorSource(function=value, fingerprint=fingerprint(value))


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that have to be given."""
    unneeded = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p for p in parameters if p.default is p.empty and p.kind not in unneeded]


def _json(value: object) -> str:
    if value != "json":
        raise wrong(f"Single rows come as JSON, not as '{value}'.", way_out="Take 'format' out.")
    return "json"


class _WrittenStream(Written):
    name: str | None = None
    listen: Annotated[SocketSource, BeforeValidator(_address(connect=False))] | None = None
    connect: Annotated[SocketSource, BeforeValidator(_address(connect=True))] | None = None
    generator: Annotated[GeneratorSource, BeforeValidator(_generator)] | None = None
    secret: Annotated[str, BeforeValidator(_secret)] | None = None
    connections: Annotated[int, BeforeValidator(_connections)] | None = None
    idle: PositiveDuration | None = None
    future_limit: FutureLimit = FUTURE_LIMIT
    format: Annotated[str, BeforeValidator(_json)] = "json"
    # Read apart, column by column; the alias keeps clear of pydantic's own `schema`.
    columns: Any = Field(alias="schema")
    time_column: str
    time_format: str | None = None
    time_zone: TimeZone = UTC_ZONE


_KEYS = frozenset(field.alias or name for name, field in _WrittenStream.model_fields.items())
