"""Operators that make groups: by columns, by sets of them, by time."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.incremental.grown.drawing import NUMBERS, Drawing, Relation, quote


def _figure(draw: Drawing, below: Relation, alias: str) -> tuple[str, str]:
    """An aggregate function and the kind of what it gives."""
    name = draw.one(list(below.columns))
    here, kind = f"{alias}.{quote(name)}", below.columns[name]
    everything = ", ".join(f"{alias}.{quote(column)}" for column in below.columns)
    choices = [
        ("count(*)", "bigint"),
        (f"count({here})", "bigint"),
        (f"count(DISTINCT {here})", "bigint"),
        (f"count({everything})", "bigint"),
        (f"approx_count_distinct({here})", "bigint"),
        (f"min({here})", kind),
        (f"max({here})", kind),
        (f"max_by({here}, struct({everything}))", kind),
        (f"min_by({here}, struct({everything}))", kind),
    ]
    if kind in NUMBERS:
        total = {"int": "bigint"}.get(kind, kind)
        mean = {"decimal": "decimal"}.get(kind, "real")
        deviation = f"round(stddev(CAST({here} AS DOUBLE)), 4)"
        choices += [(f"sum({here})", total)] * 3 + [(f"avg({here})", mean)] * 2 + [(deviation, "real")]
    if kind == "int":
        choices += [(f"sort_array(collect_set({here}))", "list"), (f"sum(DISTINCT {here})", "bigint")]
    if kind == "flag":
        choices += [(f"bool_or({here})", "flag")]
    found, result = draw.rng.choice(choices)
    if draw.happens(0.15) and not found.startswith(("round", "sort_array")):
        found += f" FILTER (WHERE {draw.condition(below.columns, alias)})"
    return found, result


def _figures(draw: Drawing, below: Relation, alias: str) -> tuple[list[str], dict[str, str]]:
    listed: list[str] = []
    columns: dict[str, str] = {}
    for _ in range(draw.one_of((1, 2, 3))):
        text, kind = _figure(draw, below, alias)
        new = draw.name("g")
        listed.append(f"{text} AS {new}")
        columns[new] = kind
    if draw.happens(0.1):
        columns["again"] = columns[new]
        listed.append(f"{text} AS again")
    return listed, columns


def group(draw: Drawing, below: Relation) -> Relation:
    source, alias = draw.within_from(below)
    keys = draw.some(list(below.columns), 0, 2)
    figures, columns = _figures(draw, below, alias)
    grouping = ", ".join(f"{alias}.{quote(name)}" for name in keys)
    fixed = draw.happens(0.1)
    shown = [name for name in keys if draw.happens(0.85)]
    listed = [f"{alias}.{quote(name)} AS {quote(name)}" for name in shown]
    text = f"SELECT {', '.join(listed + figures)} FROM {source}"
    if fixed:
        text += " GROUP BY 'fixed'" + (f", {grouping}" if grouping else "")
    elif grouping:
        text += " GROUP BY ALL" if shown == keys and draw.happens(0.2) else f" GROUP BY {grouping}"
    if draw.happens(0.25):
        text += f" HAVING {draw.one(['count(*) > 1', f'count({alias}.{quote(draw.one(list(below.columns)))}) = 1'])}"
    return replace(below, text=text, columns={name: below.columns[name] for name in shown} | columns)


def grouping_sets(draw: Drawing, below: Relation) -> Relation | None:
    keys = draw.some(list(below.columns), 2, 2)
    if len(keys) < 2:
        return None
    source, alias = draw.within_from(below)
    first, second = (f"{alias}.{quote(name)}" for name in keys)
    words = draw.one(
        [
            f"ROLLUP ({first}, {second})",
            f"CUBE ({first}, {second})",
            f"GROUPING SETS (({first}, {second}), ({second}), ())",
        ]
    )
    figures, columns = _figures(draw, below, alias)
    listed = [f"{first} AS {quote(keys[0])}", f"{second} AS {quote(keys[1])}", *figures]
    kinds = {name: below.columns[name] for name in keys} | columns
    if draw.happens(0.3):
        listed.append(f"grouping({first}) AS which")
        kinds["which"] = "int"
    return replace(below, text=f"SELECT {', '.join(listed)} FROM {source} GROUP BY {words}", columns=kinds)


def pivot(draw: Drawing, below: Relation) -> Relation | None:
    numbers, texts = below.of("int", "bigint", "decimal", "double"), below.of("text")
    if not numbers or not texts:
        return None
    number, text = draw.one(numbers), draw.one(texts)
    key = draw.one([name for name in below.columns if name not in (number, text)] or [""])
    if not key:
        return None
    source, alias = draw.within_from(below)
    inner = (
        f"SELECT {alias}.{quote(key)} AS pk, {alias}.{quote(text)} AS pt, {alias}.{quote(number)} AS pn FROM {source}"
    )
    function = draw.one(["sum", "max", "count"])
    kind = below.columns[number]
    result = {"count": "bigint", "max": kind}.get(function, "bigint" if kind == "int" else kind)
    texts_of = f"SELECT * FROM ({inner}) PIVOT ({function}(pn) FOR pt IN ('u' AS pu, 'v' AS pv))"
    return replace(below, text=texts_of, columns={"pk": below.columns[key], "pu": result, "pv": result})


def _timed(draw: Drawing, below: Relation, word: str) -> Relation | None:
    times = below.of("time")
    if not times:
        return None
    source, alias = draw.within_from(below)
    here = f"{alias}.{quote(draw.one(times))}"
    zone = draw.one(["Europe/Berlin", "America/New_York"])
    bucket = {
        "window": f"window({here}, '60 minutes', '{draw.one(['60', '30', '20'])} minutes')",
        "session_window": f"session_window({here}, '20 minutes')",
        "local": f"date_trunc('{draw.one(['DAY', 'HOUR'])}', from_utc_timestamp({here}, '{zone}'))",
    }[word]
    keys = draw.some([name for name in below.columns if below.columns[name] != "time"], 0, 1)
    figures, columns = _figures(draw, below, alias)
    start = draw.name("s")
    listed = [f"{bucket if word == 'local' else f'{word}.start'} AS {start}"]
    shown = [name for name in keys if draw.happens(0.8)]
    listed += [f"{alias}.{quote(name)} AS {quote(name)}" for name in shown]
    grouping = ", ".join([bucket, *(f"{alias}.{quote(name)}" for name in keys)])
    text = f"SELECT {', '.join(listed + figures)} FROM {source} GROUP BY {grouping}"
    return replace(below, text=text, columns={start: "time", **{n: below.columns[n] for n in shown}, **columns})


def sliding(draw: Drawing, below: Relation) -> Relation | None:
    return _timed(draw, below, "window")


def sessions(draw: Drawing, below: Relation) -> Relation | None:
    return _timed(draw, below, "session_window")


def local_time(draw: Drawing, below: Relation) -> Relation | None:
    return _timed(draw, below, "local")
