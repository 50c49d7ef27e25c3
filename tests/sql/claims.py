"""What a shape claims, held against a real engine: `a` and `b` are base tables, `h` is an hourly view of `a`, `d` is
a reference table, in which a time is a column like any other."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

import duckdb
import sqlglot
from hypothesis import strategies as st

from freshtide.core.instants import micros_of
from freshtide.sql.shapes import Shape
from freshtide.sql.text import ParsedQuery

from .samples import SOURCES

START = datetime(2024, 1, 28, 21)  # a Sunday evening: a day, a week and soon a month come to an end
STEP = timedelta(minutes=10)
SPANS = [timedelta(hours=2), timedelta(hours=7), timedelta(days=2), timedelta(days=7)]
TABLES = {name: SOURCES[name] for name in ("a", "b", "h", "d")}
ENGINE = duckdb.connect()
ENGINE.execute(
    "CREATE MACRO bucket_start(t, width) AS time_bucket(width::INTERVAL, t::TIMESTAMP, TIMESTAMP '1970-01-01')"
)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Rows of the base tables, and two moments."""

    a: list[tuple[datetime, int, int]]
    b: list[tuple[datetime, int, int]]
    before: datetime
    now: datetime
    d: list[tuple[datetime, int, int]] = field(default_factory=list)


def world_of(seed: int) -> World:
    """Rows that meet often enough to tell: few moments, few keys, and cuts in their midst."""
    rng = random.Random(seed)
    span = rng.choice(SPANS)
    odd = [timedelta(), timedelta(), timedelta(seconds=1)]
    moments = [START + STEP * rng.randrange(span // STEP) + rng.choice(odd) for _ in range(rng.randint(2, 8))]

    def rows() -> list[tuple[datetime, int, int]]:
        return [(rng.choice(moments), rng.randrange(2), rng.randrange(4)) for _ in range(rng.randint(0, 9))]

    cut = rng.choice([rng.choice(moments), START + STEP * rng.randrange(span // STEP)])
    now = max(cut, rng.choice([max(moments), rng.choice(moments)]))
    return World(a=rows(), b=rows(), before=cut, now=now, d=rows())


def worlds() -> st.SearchStrategy[World]:
    return st.integers(0, 2**32).map(world_of)


def _literal(rows: list[tuple[datetime, int, int]]) -> str:
    values = ", ".join(f"(TIMESTAMP '{at}', {k}, {v})" for at, k, v in rows)
    empty = "SELECT NULL::TIMESTAMP, NULL::INT, NULL::INT WHERE false"
    return f"SELECT * FROM (VALUES {values})" if values else empty


def _load(world: World) -> None:
    for name in ("a", "b", "d"):
        ENGINE.execute(
            f"CREATE OR REPLACE TABLE all_{name} AS SELECT * FROM ({_literal(getattr(world, name))}) t(ts, k, v)"
        )


def _state(state: str, condition: str, closed_before: str | None = None) -> None:
    """Tables as of a state: base rows for which the condition holds, `h` made from them.

    With `closed_before`, `h` holds closed hours only, of all rows.
    """
    for name in ("a", "b"):
        ENGINE.execute(f"CREATE OR REPLACE VIEW {state}_{name} AS SELECT * FROM all_{name} WHERE {condition}")
    ENGINE.execute(f"CREATE OR REPLACE VIEW {state}_d AS SELECT * FROM all_d")
    source = f"{state}_a" if closed_before is None else "all_a"
    kept = "true" if closed_before is None else closed_before
    ENGINE.execute(
        f"CREATE OR REPLACE VIEW {state}_h AS SELECT * FROM (SELECT date_trunc('hour', ts) AS hour, k, "
        f"count(*) AS v FROM {source} GROUP BY ALL) WHERE {kept}"
    )


def _at(micros: int) -> str:
    return f"make_timestamp({micros})"


def _filled_in(parsed: ParsedQuery, states: list[str]) -> str:
    """The query text with each reference replaced by the table of its state, as updates do it."""
    text = parsed.text
    for reference, state in reversed(list(zip(parsed.references, states, strict=True))):
        name = f"{state}_{reference.source}" + ("" if reference.aliased else f" AS {reference.source}")
        text = text[: reference.start] + name + text[reference.end :]
    return text


@cache
def _for_duckdb(text: str) -> str:
    without_windows = re.sub(r"window\(([^,()]+), ('[^']*')\)\.start", r"bucket_start(\1, \2)", text)
    # Spark's TIMESTAMP is an instant, which DuckDB gives back in the zone of the machine.
    return sqlglot.transpile(without_windows, "spark", "duckdb")[0].replace("TIMESTAMPTZ", "TIMESTAMP")


def _rows(parsed: ParsedQuery, *states: str) -> Counter[Row]:
    each = list(states) if len(states) > 1 else list(states) * len(parsed.references)
    found = ENGINE.execute(_for_duckdb(_filled_in(parsed, each))).fetchall()
    return Counter(found)


def _column_index(parsed: ParsedQuery, name: str) -> int:
    ENGINE.execute(_for_duckdb(_filled_in(parsed, ["new"] * len(parsed.references))))
    return [column[0].lower() for column in ENGINE.description or ()].index(name.lower())


def _stamp(value: object) -> int:
    assert isinstance(value, date), f"a row without a time: {value}"
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return micros_of(moment)


def _stamped(rows: Counter[Row], index: int, *, before: int) -> Counter[Row]:
    return Counter({row: count for row, count in rows.items() if _stamp(row[index]) < before})


def check_local(parsed: ParsedQuery, found: Shape, world: World, *, closed: bool) -> None:
    assert found.time_column is not None
    assert found.grain is not None
    first_open = found.grain.floor(micros_of(world.before) + 1)
    before, now = _at(micros_of(world.before)), _at(micros_of(world.now))
    hours = {cut: f"hour < date_trunc('hour', {cut} + INTERVAL 1 MICROSECOND)" for cut in (before, now)}
    _state("old", f"ts <= {before}", hours[before] if closed else None)
    _state("new", f"ts <= {now}", hours[now] if closed else None)
    opened = f"ts <= {now} AND ts >= {_at(first_open)}"
    _state("open", opened, f"{hours[now]} AND hour >= {_at(first_open)}" if closed else None)
    index = _column_index(parsed, found.time_column)
    new = _rows(parsed, "new")
    kept = _stamped(new, index, before=first_open)
    assert kept == _stamped(_rows(parsed, "old"), index, before=first_open), "closed rows changed"
    assert new - kept == _rows(parsed, "open"), "open rows depend on rows before their bucket"


def _append_states(world: World) -> None:
    """Sources that only append: base tables, and the closed hours of `h`."""
    before, now = _at(micros_of(world.before)), _at(micros_of(world.now))
    closed = {cut: f"hour < date_trunc('hour', {cut} + INTERVAL 1 MICROSECOND)" for cut in (before, now)}
    _state("old", f"ts <= {before}", closed[before])
    _state("new", f"ts <= {now}", closed[now])
    _state("delta", f"ts <= {now} AND ts > {before}", f"{closed[now]} AND NOT {closed[before]}")


def check_linear(parsed: ParsedQuery, world: World) -> None:
    _append_states(world)
    total = _rows(parsed, "old")
    count = len(parsed.references)
    for place in (at for at, reference in enumerate(parsed.references) if reference.source != "d"):
        states = ["new"] * place + ["delta"] + ["old"] * (count - place - 1)
        total += _rows(parsed, *states)
    assert total == _rows(parsed, "new"), "the terms do not add up"


def check_exact_time(parsed: ParsedQuery, found: Shape, world: World) -> None:
    assert found.time_column is not None
    _append_states(world)
    reached = found.source_grain.floor(micros_of(world.before) + 1)
    index = _column_index(parsed, found.time_column)
    old, new = _rows(parsed, "old"), _rows(parsed, "new")
    assert _stamped(new, index, before=reached) == old, "rows were added to a time already reached"


def check_claims(parsed: ParsedQuery, found: Shape, world: World) -> None:
    """Everything that a shape claims, on these rows."""
    _load(world)
    if found.local:
        check_local(parsed, found, world, closed=False)
        check_local(parsed, found, world, closed=True)
    if found.linear:
        check_linear(parsed, world)
    if found.exact_time:
        check_exact_time(parsed, found, world)
