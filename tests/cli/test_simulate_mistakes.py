"""A scenario that is wrong: a message with file, line and what is allowed, exit code 2, and no traceback."""

from __future__ import annotations

import pytest

from .scenarios import Terminal

KEYS = "Known: costs, groups, horizon, retry, scheduler, seed, slowdown, stops, tables, tracks, variability."
A_PRIORITY = (
    "A priority is a number from 0.000001 to 1,000,000; with 0.01 a table counts for a hundredth of one with 1."
)
TABLE_KEYS = (
    "Known: alpha, arrivals, beta, cost, expected, failures, jitter, late, outages, pattern, period, phase, priority, "
    "sources, target_lag, timestamp_jitter."
)
FORMS = (
    "Write a stream like {period: 100, alpha: 1, beta: 0.1} or {arrivals: [[4, 3], [7, 7]], alpha: 1}, "
    "a view like {sources: [a, b], alpha: 1}."
)
ONE = "horizon: 9\ntables:\n  a: {period: 1}\n"
TWO = "horizon: 9\ntables:\n  a: {period: 1}\n  x: {sources: [a]}\n  y: {sources: [a]}\n"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "",
            [f"1: Nothing is declared here. {KEYS}"],
        ),
        (
            "- a\n",
            [f"1: Keys and values are expected here. {KEYS}"],
        ),
        ("tables: {a: [}\n", ["1: The YAML is broken: expected the node content, but found '}'."]),
        ("horizon: 9\n", ["1: 'tables' is missing."]),
        ("tables:\n  a: {period: 1}\n", ["1: 'horizon' is missing."]),
        ("horizon: 9\ntables: {}\n", [f"2: A scenario needs tables. {FORMS}"]),
        ("horizon: 9\ntables: [a, b]\n", [f"2: A scenario needs tables. {FORMS}"]),
        (
            ONE + "track: 2\n",
            [f"4: There is no setting 'track'. Did you mean 'tracks'? {KEYS}"],
        ),
        (ONE + "tracks: 0\n", ["4: 'tracks' must be at least 1, not '0'."]),
        (ONE + "tracks: 100000\n", ["4: 'tracks' must be at most 10000, not '100000'."]),
        (ONE + "seed: 1.5\n", ["4: 'seed' must be a whole number, not '1.5'."]),
        (ONE + "variability: 1\n", ["4: 'variability' must be less than 1, not '1'."]),
        (ONE + "variability: -0.1\n", ["4: 'variability' must be at least 0, not '-0.1'."]),
        (
            ONE + "slowdown:\n  factor: 0\n  normal: 1\n  slow: 1\n",
            ["5: 'slowdown.factor' must be more than 0, not '0'."],
        ),
        (ONE + "slowdown: {factor: 3, slow: 1}\n", ["4: 'slowdown.normal' is missing."]),
        (
            ONE + "stops: [[5, 4]]\n",
            ["4: An interval must end after it has begun. Write it like [start, end]."],
        ),
        (
            ONE + "stops:\n  - [6, 8]\n  - [1, 6]\n",
            ["5: The warehouse stops at 6, while it is still stopped. Let it stop after 6, when it has started again."],
        ),
        (ONE + "retry: {attempts: 0}\n", ["4: 'retry.attempts' must be at least 1, not '0'."]),
        (
            "horizon: 9\ntables:\n  a: {period: 1, failures: {share: 1.5}}\n",
            ["3: 'tables.a.failures.share' must be at most 1, not '1.5'."],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1, failures: {during: [{}]}}\n",
            ["3: A moment or an interval is expected here, not keys and values."],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1}\n  x:\n    sources: [a]\n    failures: {share: 1}\n"
            "  y: {sources: [a]}\ngroups: {g: [x, y]}\n",
            [
                "6: 'x' is updated in the group 'g', so it cannot fail by itself. "
                "Write the failures into the group: {g: {tables: [...], failures: ...}}."
            ],
        ),
        (
            ONE + "costs: learned\n",
            ["4: 'learned' is not where costs come from. Did you mean 'learnt'? Known: given, learnt."],
        ),
        (
            "horizon: 9\ntables:\n  a:\n    period: 1\n    expected: {alpha: 1}\n",
            [
                "5: 'a' has an expected cost, but the scheduler is given the true one. "
                "Write costs: learnt beside the tables, or take it out."
            ],
        ),
        (
            ONE + "costs: learnt\ngroups: {g: {tables: [a], expected: {beta: 1}}}\n",
            ["5: 'groups.g.expected.alpha' is missing."],
        ),
        (
            ONE + "scheduler:\n  ordering: max_benefit\n",
            [
                "5: 'max_benefit' is not an ordering. Did you mean 'max-benefit'? "
                "Known: edf, edf-p, fifo, lookahead, max-benefit, myopic, random, shortest-period, target-lag."
            ],
        ),
        (
            ONE + "scheduler: {chopping: 0.5}\n",
            [
                "4: '0.5' does not say how many periods an update may load. "
                "Write a number of at least 1, slack, or none."
            ],
        ),
        ("horizon: 0\ntables: {a: {period: 1}}\n", ["1: 'horizon' must be longer than 0s, not '0'."]),
        (
            "horizon: long\ntables: {a: {period: 1}}\n",
            ["1: 'long' is not a duration. Write it like 90s, 5m, 1h30m or '15 minutes'."],
        ),
        (
            "horizon: 9\ntables:\n  a:\n    alpha: 1\n    period: -5\n",
            ["5: '-5' is not a duration. Write it like 90s, 5m, 1h30m or '15 minutes'."],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1}\n  b:\n    perod: 1\n",
            [f"5: There is no setting 'tables.b.perod'. Did you mean 'period'? {TABLE_KEYS}"],
        ),
        ("horizon: 9\ntables:\n  a: 3\n", [f"3: Keys and values are expected here. {TABLE_KEYS}"]),
        ("horizon: 9\ntables:\n  a: {alpha: 3}\n", [f"3: 'a' has neither a stream nor sources. {FORMS}"]),
        ("horizon: 9\ntables:\n  a: {period: 1, beta: -1}\n", ["3: 'tables.a.beta' must be at least 0, not '-1'."]),
        (
            "horizon: 9\ntables:\n  a: {period: 1, priority: 0}\n",
            [f"3: '0' is not a priority. {A_PRIORITY}"],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1, priority: 1.0e+308}\n",
            [f"3: '1e+308' is not a priority. {A_PRIORITY}"],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1}\n  b:\n    sources: [a]\n    period: 5\n",
            [f"6: 'b' has sources, and is updated when they are, so it cannot have 'period'. Take it out. {FORMS}"],
        ),
        (
            "horizon: 9\ntables:\n  a: {arrivals: [[1, 1]], jitter: 2}\n",
            [f"3: 'a' has its arrivals listed, so it cannot have 'jitter'. Take it out. {FORMS}"],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1, pattern: quasi-periodic}\n",
            [
                "3: 'quasi-periodic' is not a pattern. Did you mean 'quasiperiodic'? "
                "Known: adversarial, periodic, quasiperiodic."
            ],
        ),
        (
            "horizon: 9\ntables:\n  a:\n    period: 1\n    pattern: adversarial\n    jitter: 2\n    phase: 1\n",
            [
                "6: 'a' is adversarial, and files are stamped when they come, so it cannot have 'jitter'. "
                f"Take it out. {FORMS}",
                "7: 'a' is adversarial, and files are stamped when they come, so it cannot have 'phase'. "
                f"Take it out. {FORMS}",
            ],
        ),
        (
            "horizon: 9\ntables:\n  a: {arrivals: [[1, 1]], pattern: periodic}\n",
            [f"3: 'a' has its arrivals listed, so it cannot have 'pattern'. Take it out. {FORMS}"],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1}\n  b: {sources: [a], pattern: quasiperiodic}\n",
            [f"4: 'b' has sources, and is updated when they are, so it cannot have 'pattern'. Take it out. {FORMS}"],
        ),
        ("horizon: 9\ntables:\n  a: {arrivals: []}\n", ["3: 'tables.a.arrivals' must not be empty."]),
        (
            "horizon: 9\ntables:\n  a:\n    arrivals:\n      - [1, 1]\n      - [2]\n",
            ["6: Two moments are expected here. Write them like [4, 3]."],
        ),
        (
            "horizon: 9\ntables:\n  a:\n    arrivals:\n      - [1, 1]\n      - [4, 1m]\n",
            [
                "6: The file that arrives at 4 is stamped 1m, which is in its future. "
                "Write [arrival, time stamp], with a time stamp that is no later than the arrival."
            ],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1, outages: [[5, 5]]}\n",
            ["3: An interval must end after it has begun. Write it like [start, end]."],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1, late: {share: 2, by: 1}}\n",
            ["3: 'tables.a.late.share' must be at most 1, not '2'."],
        ),
        ("horizon: 9\ntables:\n  a: {period: 1}\n  b: {sources: []}\n", ["4: 'tables.b.sources' must not be empty."]),
        (
            "horizon: 9\ntables:\n  orders: {period: 1}\n  v:\n    sources:\n      - orders\n      - ordres\n",
            ["7: The source 'ordres' of 'v' is not a table. Did you mean 'orders'? Known: orders, v."],
        ),
        (
            "horizon: 9\ntables:\n  a: {period: 1}\n  u: {sources: [a, w]}\n  v: {sources: [u]}\n  w: {sources: [v]}\n",
            ["4: These tables depend on each other in a circle: u -> v -> w -> u."],
        ),
        (
            "horizon: 9\ntables:\n  a: {sources: [a]}\n",
            ["3: These tables depend on each other in a circle: a -> a. Take one of them out of the others' sources."],
        ),
        (
            TWO + "groups: [x, y]\n",
            [
                "6: 'groups' must be names with lists of tables. "
                "Write {g: [x, y]} or {g: {tables: [x, y], alpha: 1, beta: 0.2}}."
            ],
        ),
        (TWO + "groups:\n  g: [x, z]\n", ["7: The member 'z' of the group 'g' is not a table. Known: a, x, y."]),
        (TWO + "groups:\n  g: [x]\n", ["7: The group 'g' must name two tables or more, each once. Known: a, x, y."]),
        (TWO + "groups:\n  g: [x, x]\n", ["7: The group 'g' must name two tables or more, each once. Known: a, x, y."]),
        (
            TWO + "groups:\n  g: {members: [x, y]}\n",
            [
                "7: 'groups.g.tables' is missing.",
                "7: There is no setting 'groups.g.members'. Known: alpha, beta, expected, failures, tables.",
            ],
        ),
        (TWO + "groups: {x: [x, y]}\n", ["6: 'x' is a table and a group. Rename one of them."]),
        (
            TWO + "groups:\n  g: [x, y]\n  h: [y, x]\n",
            ["8: 'y' is in the groups 'g' and 'h'. A table is in one group at most."],
        ),
        (
            TWO + "groups: {g: [a, x]}\n",
            [
                "6: 'a' and 'x' cannot be updated together in the group 'g'. "
                "The tables of a group have the same sources, or are streams with the same arrivals."
            ],
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_is_allowed(
    terminal: Terminal, text: str, problems: list[str]
) -> None:
    told = terminal.simulate(text)
    assert told.code == 2
    assert told.out == ""
    assert "Traceback" not in told.err
    shown = " ".join(told.err.split())
    for problem in problems:
        assert problem in shown
    assert f"{len(problems)} problem" in shown
    assert "scenario.yml" in shown


def test_all_mistakes_are_told_at_once(terminal: Terminal) -> None:
    told = terminal.simulate(
        "tracks: 0\nhorizon: -1\nscheduler: best\ntables:\n  a: {period: 0}\n  b: {sources: [c]}\n"
    )
    assert "5 problems" in told.err


def test_a_file_that_is_not_there_is_said(terminal: Terminal) -> None:
    told = terminal.type("simulate", str(terminal.folder / "none.yml"))
    assert told.code == 2
    assert "There is no such file." in told.err
    assert "examples/scenarios" in told.err


def test_a_file_that_is_no_text_is_said(terminal: Terminal) -> None:
    (terminal.folder / "s.yml").write_bytes(b"\xff\xfe\x00")
    told = terminal.type("simulate", str(terminal.folder / "s.yml"))
    assert told.code == 2
    assert "Traceback" not in told.err
