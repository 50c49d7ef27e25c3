"""Random scenarios through the command line, judged by their traces alone."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples

from .scenarios import Terminal, area, staleness_at, steps

HORIZON = 400
SAMPLES = 4_000

costs = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from([0, 0.5, 1, 3]),
        "beta": st.sampled_from([0, 0.01, 0.05]),
        "priority": st.sampled_from([0.1, 1, 10]),
    }
)
steady_streams = st.fixed_dictionaries({"period": st.integers(5, 60)}, optional={"phase": st.integers(1, 40)})
listed_streams = st.lists(st.tuples(st.integers(0, HORIZON), st.integers(0, 20)), min_size=1, max_size=12).map(
    lambda files: {"arrivals": [[at, max(0, at - delay)] for at, delay in files], "period": 10}
)
disturbances = st.fixed_dictionaries(
    {},
    optional={
        "jitter": st.integers(1, 30),
        "late": st.fixed_dictionaries({"share": st.sampled_from([0.1, 0.9]), "by": st.integers(1, 50)}),
        "outages": st.lists(
            st.tuples(st.integers(0, HORIZON), st.integers(1, 100)).map(lambda o: [o[0], o[0] + o[1]]), max_size=2
        ),
    },
)
disturbed_streams = st.builds(lambda stream, more: stream | more, steady_streams, disturbances)
policies = st.fixed_dictionaries(
    {},
    optional={
        "ordering": st.sampled_from(["fifo", "edf", "edf-p", "max-benefit", "lookahead", "myopic", "random"]),
        "inheritance": st.sampled_from(["none", "sum", "max", {"max-plus": 2}]),
        "chopping": st.sampled_from([1, 3, "none"]),
        "seed": st.integers(0, 3),
    },
).filter(lambda policy: policy.get("ordering") != "myopic" or policy.get("chopping", "none") == "none")
allocations = st.one_of(
    st.just("global"),
    st.builds(
        lambda aggressive, tracks, k: {"name": "proportional", "aggressive": aggressive, "tracks": tracks, "k": k},
        st.booleans(),
        st.sampled_from(["all", "basic"]),
        st.sampled_from([0.1, 1, 10]),
    ),
)


@st.composite
def scenarios(
    draw: st.DrawFn, streams: st.SearchStrategy[dict[str, Any]], sharing: st.SearchStrategy[Any] = allocations
) -> dict[str, Any]:
    bases = [f"b{n}" for n in range(draw(st.integers(1, 4)))]
    tables = {name: draw(streams) | draw(costs) for name in bases}
    for n in range(draw(st.integers(0, 4))):
        sources = draw(st.lists(st.sampled_from(sorted(tables)), min_size=1, max_size=3, unique=True))
        tables[f"v{n}"] = {"sources": sources} | draw(costs)
    scenario = {
        "horizon": HORIZON,
        "tracks": draw(st.integers(1, 4)),
        "seed": draw(st.integers(0, 99)),
        "variability": draw(st.sampled_from([0, 0.5])),
        "scheduler": draw(policies) | {"allocation": draw(sharing)},
        "tables": tables,
    }
    if draw(st.booleans()):
        scenario["slowdown"] = {"factor": 3, "normal": 50, "slow": 20}
    source = draw(st.sampled_from(sorted(tables)))
    if draw(st.booleans()):
        for twin in ("t0", "t1"):
            tables[twin] = {"sources": [source]} | draw(costs)
        scenario["groups"] = {"twins": ["t0", "t1"]}
    return scenario


tried = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@tried
@given(scenario=scenarios(st.one_of(disturbed_streams, listed_streams)))
def test_updates_exclude_each_other_where_they_must(terminal: Terminal, scenario: dict[str, Any]) -> None:
    _, trace = terminal.traced(scenario)
    assert all(0 <= u["start"] <= u["end"] <= HORIZON and 0 <= u["track"] < scenario["tracks"] for u in trace)
    for key in ("table", "track"):
        for _, group in itertools.groupby(sorted(trace, key=lambda u: u[key]), key=lambda u: u[key]):
            ordered = sorted(group, key=lambda u: (u["start"], u["end"]))
            assert all(one["end"] <= other["start"] for one, other in itertools.pairwise(ordered))
    for table in scenario["tables"]:
        reached = [upto for _, upto in steps(trace, table)]
        assert reached == sorted(reached)
    by_table: dict[str, float] = {}
    for update in trace:
        assert update["from"] == by_table.get(update["table"], 0.0)
        by_table[update["table"]] = update["upto"]


@tried
@given(scenario=scenarios(st.one_of(disturbed_streams, listed_streams)))
def test_the_figures_are_those_of_the_trace(terminal: Terminal, scenario: dict[str, Any]) -> None:
    result, trace = terminal.traced(scenario)
    weighted = 0.0
    for name, table in scenario["tables"].items():
        told = result["tables"][name]
        mean = area(trace, name, 0, HORIZON) / HORIZON
        weighted += table["priority"] * mean
        assert told["mean"] == pytest.approx(mean, abs=1e-9)
        assert told["final"] == pytest.approx(staleness_at(trace, name, HORIZON), abs=1e-9)
        assert told["updates"] == len(steps(trace, name)) - 1
        known = steps(trace, name)
        peaks = [
            until - freshness for (_, freshness), (until, _) in zip(known, [*known[1:], (HORIZON, 0)], strict=True)
        ]
        assert told["max"] == pytest.approx(max(peaks), abs=1e-9)
        _check_quantile(told["p95"], trace, name)
    assert result["weighted_staleness"] == pytest.approx(weighted, abs=1e-9)
    busy = [sum(u["end"] - u["start"] for u in trace if u["track"] == t) for t in range(scenario["tracks"])]
    # Updates that had not ended at the horizon are in no trace, and kept their tracks busy too.
    assert all(share * HORIZON >= seconds - 1e-6 for share, seconds in zip(result["utilisation"], busy, strict=True))
    assert all(share <= 1.0 + 1e-9 for share in result["utilisation"])


def _check_quantile(p95: float, trace: list[dict[str, Any]], name: str) -> None:
    """Of many moments, 95 % are at most that stale; not exactly as many, for the moments lie between the steps."""
    known = steps(trace, name)
    values, at = [], 0
    for n in range(SAMPLES):
        moment = (n + 0.5) * HORIZON / SAMPLES
        while at + 1 < len(known) and known[at + 1][0] <= moment:
            at += 1
        values.append(moment - known[at][1])
    tolerance = 3 * len(known) / SAMPLES
    assert sum(value <= p95 + 1e-9 for value in values) / SAMPLES >= 0.95 - tolerance
    assert sum(value < p95 - 1e-9 for value in values) / SAMPLES <= 0.95 + tolerance


@tried
@given(scenario=scenarios(st.one_of(steady_streams, listed_streams), st.just("global")))
def test_with_one_queue_no_track_is_idle_while_something_could_be_updated(
    terminal: Terminal, scenario: dict[str, Any]
) -> None:
    # What is still running at the horizon is in no trace: only up to half of it is everything known.
    end = HORIZON / 2
    _, trace = terminal.traced(scenario)
    files = {name: _files(table) for name, table in scenario["tables"].items() if "sources" not in table}
    moments = {u["start"] for u in trace} | {u["end"] for u in trace} | {at for f in files.values() for at, _ in f}
    for now in sorted(moment for moment in moments if moment < end):
        running = {u["table"] for u in trace if u["start"] <= now < u["end"]}
        if len(running) < scenario["tracks"]:
            waiting = _could_be_updated(scenario, trace, files, now) - running
            assert not waiting, f"at {now} {waiting} wait beside an idle track"


def _files(table: dict[str, Any]) -> list[tuple[float, float]]:
    if "arrivals" in table:
        return [(at, stamp) for at, stamp in table["arrivals"]]
    first = table.get("phase", table["period"])
    return [(due, due) for due in range(first, HORIZON, table["period"])]


def _could_be_updated(
    scenario: dict[str, Any], trace: list[dict[str, Any]], files: dict[str, list[tuple[float, float]]], now: float
) -> set[str]:
    group_of = {member: group for group, members in scenario.get("groups", {}).items() for member in members}
    found = set()
    for name, table in scenario["tables"].items():
        unit = group_of.get(name, name)
        freshness = steps([u for u in trace if u["end"] <= now], name)[-1][1]
        if "sources" in table:
            edge = min(steps([u for u in trace if u["end"] <= now], source)[-1][1] for source in table["sources"])
            if edge > freshness:
                found.add(unit)
            continue
        for at, stamp in files[name]:
            taken = any(u["table"] == unit and at <= u["start"] <= now and u["upto"] >= stamp for u in trace)
            if at <= now and not taken:
                found.add(unit)
    return found
