"""Queries put together at random: each gives the columns t, k and v."""

from __future__ import annotations

from hypothesis import strategies as st

TIMES = ["x.t", "x.t", "date_trunc('hour', x.t)", "date_trunc('day', x.t)", "CAST(x.t AS DATE)"]
TIMES += ["date_trunc('week', x.t)", "date_trunc('month', x.t)", "window(x.t, '20 minutes').start"]
TIMES += ["window(x.t, '30 minutes').start", "x.t + INTERVAL 1 HOUR"]
JOINS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
# DuckDB takes no full join without an equation.
EQUATIONS = ["x.t = y.t", "date_trunc('hour', x.t) = date_trunc('hour', y.t)", "x.t = date_trunc('hour', y.t)"]
EQUATIONS += ["x.k = y.k", "CAST(x.t AS DATE) = y.t"]
MATCHES = [*EQUATIONS, "x.t >= y.t", "x.t < y.t", "x.t BETWEEN y.t AND y.t"]
JOINED_TIMES = ["x.t", "y.t", "greatest(x.t, y.t)", "coalesce(x.t, y.t)", "least(x.t, y.t)"]
JOINED_TIMES += ["date_trunc('hour', y.t)", "coalesce(date_trunc('hour', x.t), y.t)", "greatest(date(x.t), y.t)"]
GROUPED = ["sum(x.v)", "count(*)", "max(x.v)"]
PARTITIONS = ["", "PARTITION BY x.k", "PARTITION BY x.t", "PARTITION BY date_trunc('day', x.t), x.k"]


@st.composite
def row_wise(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    where = draw(st.sampled_from(["", " WHERE x.v > 1", " WHERE x.k = 0"]))
    distinct = draw(st.sampled_from(["", "", "DISTINCT "]))
    return f"SELECT {distinct}{draw(st.sampled_from(TIMES))} AS t, x.k, x.v FROM {draw(tables)} x{where}"


@st.composite
def grouped(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    key = draw(st.sampled_from(TIMES))
    keys = draw(st.sampled_from([f"{key}, x.k", "ALL", "x.k"]))
    time = "max(x.t)" if keys == "x.k" else key
    return f"SELECT {time} AS t, x.k, {draw(st.sampled_from(GROUPED))} AS v FROM {draw(tables)} x GROUP BY {keys}"


@st.composite
def windowed(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    time, part = draw(st.sampled_from(TIMES)), draw(st.sampled_from(PARTITIONS))
    order = draw(st.sampled_from(["", " ORDER BY x.v"]))
    return f"SELECT {time} AS t, x.k, sum(x.v) OVER ({part}{order}) AS v FROM {draw(tables)} x"


@st.composite
def joined(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    left, right = draw(tables), draw(tables)
    if draw(st.integers(0, 4)) == 0:
        kind = draw(st.sampled_from(["SEMI JOIN", "ANTI JOIN"]))
        return f"SELECT x.t, x.k, x.v FROM {left} x {kind} {right} y ON {draw(st.sampled_from(MATCHES))}"
    kind = draw(st.sampled_from(JOINS))
    if draw(st.integers(0, 4)) == 0:
        time = draw(st.sampled_from(["t", "x.t", "y.t"]))
        return f"SELECT {time} AS t, x.k, y.v FROM {left} x {kind} {right} y USING (t)"
    matches = [*draw(st.lists(st.sampled_from(MATCHES), max_size=1)), draw(st.sampled_from(EQUATIONS))]
    where = f" WHERE {draw(st.sampled_from(MATCHES))}" if draw(st.integers(0, 3)) == 0 else ""
    time = draw(st.sampled_from(JOINED_TIMES))
    return f"SELECT {time} AS t, x.k, y.v FROM {left} x {kind} {right} y ON {' AND '.join(matches)}{where}"


@st.composite
def three_way(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    kinds = [draw(st.sampled_from(JOINS)) for _ in range(2)]
    first, second, third = (draw(tables) for _ in range(3))
    if draw(st.integers(0, 2)) == 0:
        time = draw(st.sampled_from(["t", "t", "x.t", "z.t"]))
        joins = f"{first} x {kinds[0]} {second} y USING (t) {kinds[1]} {third} z USING (t)"
        return f"SELECT {time} AS t, x.k, z.v FROM {joins}"
    equations = ["x.t = z.t", "y.t = z.t", "date_trunc('hour', y.t) = date_trunc('hour', z.t)", "y.k = z.k"]
    more = ["x.t = y.t", "y.t <= z.t", "x.t > z.t"]
    on = f"{draw(st.sampled_from(equations))}" + draw(st.sampled_from(["", *(f" AND {part}" for part in more)]))
    match = draw(st.sampled_from(EQUATIONS))
    where = draw(st.sampled_from(["", "", *(f" WHERE {part}" for part in (*equations, *more))]))
    time = draw(st.sampled_from([*JOINED_TIMES, "z.t", "greatest(x.t, y.t, z.t)", "coalesce(y.t, z.t)"]))
    joins = f"{first} x {kinds[0]} {second} y ON {match} {kinds[1]} {third} z ON {on}"
    return f"SELECT {time} AS t, y.k, z.v FROM {joins}{where}"


@st.composite
def combined(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    word = draw(st.sampled_from(["UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"]))
    sides = [draw(row_wise(tables) | grouped(tables)) for _ in range(2)]
    return f" {word} ".join(sides)


@st.composite
def shared(draw: st.DrawFn, tables: st.SearchStrategy[str]) -> str:
    body = draw(row_wise(tables) | grouped(tables))
    shared_table = st.booleans().flatmap(lambda again: st.just("shared") if again else tables)
    return f"WITH shared AS ({body}) {draw(joined(shared_table) | combined(shared_table))}"


def queries() -> st.SearchStrategy[str]:
    base = st.sampled_from(
        [
            "(SELECT ts AS t, k, v FROM a)",
            "(SELECT ts AS t, k, v FROM b)",
            "(SELECT hour AS t, k, v FROM h)",
            "(SELECT ts AS t, k, v FROM d)",
        ]
    )

    def level(tables: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        kinds = [row_wise, grouped, windowed, joined, joined, three_way, combined, shared]
        return st.sampled_from(kinds).flatmap(lambda kind: kind(tables))

    return level(base) | level(base | level(base).map(lambda query: f"({query})"))
