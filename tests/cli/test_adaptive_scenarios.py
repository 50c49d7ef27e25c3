"""`scheduler: adaptive` and `prp` in scenarios (Leontyev et al. 2010)."""

from __future__ import annotations

from typing import Any

import pytest

from .scenarios import Terminal

FEED = [[1, 1], [10, 4], [10, 7], [10, 10], *([stamp, stamp] for stamp in range(13, 40, 3))]


def two_tables(scheduler: Any, **table: Any) -> dict[str, Any]:
    """Examples 8 to 10: two tables whose feeds were down until 10, on one track."""
    made = {"arrivals": FEED, "period": 3, "cost": 1} | table
    return {"tracks": 1, "horizon": 40, "scheduler": scheduler, "tables": {"a": made, "b": made}}


def starts(trace: list[dict[str, Any]], table: str) -> list[float]:
    return [update["start"] for update in trace if update["table"] == table]


@pytest.mark.parametrize(
    "scheduler",
    [
        {"name": "adaptive", "recovery": 1.5, "threshold": 8},
        {"name": "adaptive", "recovery": {"a": 1.5, "b": 1.5}, "threshold": {"a": 8, "b": 8}},
        {"name": "adaptive", "recovery": "fastest", "threshold": 8},
        {"name": "adaptive", "threshold": 8, "arbitration": "share", "costs": "average"},
    ],
)
def test_one_table_recovers_after_the_other(terminal: Terminal, scheduler: dict[str, Any]) -> None:
    _, trace = terminal.traced(two_tables(scheduler | {"early": False}))
    assert starts(trace, "a")[:6] == [1, 10, 12, 13, 15, 16]
    assert starts(trace, "b")[:5] == [2, 11, 14, 17, 18.5]


def test_what_has_fallen_behind_uses_a_track_that_is_idle(terminal: Terminal) -> None:
    """At 18 nothing is due, and b has three files: its next update need not wait for 18.5."""
    _, trace = terminal.traced(two_tables({"name": "adaptive", "recovery": 1.5, "threshold": 8}))
    assert starts(trace, "b")[:5] == [2, 11, 14, 17, 18]


def test_together_leaves_every_table_its_place_in_recovery(terminal: Terminal) -> None:
    """With p U / m = 3 * 2/3 both may be in recovery mode, each with an update every 2."""
    _, trace = terminal.traced(two_tables({"name": "adaptive", "recovery": "together", "threshold": 8}))
    assert starts(trace, "a")[1:4] == [10, 12, 14]
    assert starts(trace, "b")[1:4] == [11, 13, 15]


def test_stamps_of_different_ages_are_within_what_is_reserved_for_bursts(terminal: Terminal) -> None:
    """Files come each 10 s, up to 60 s old: one may bring 70 s of data, and takes 0.5 s for each of them."""
    scenario = {
        "tracks": 1,
        "horizon": 3600,
        "scheduler": "adaptive",
        "tables": {"a": {"period": 10, "timestamp_jitter": 60, "alpha": 0, "beta": 0.5}},
    }
    found, trace = terminal.traced(scenario)
    assert max(update["end"] - update["start"] for update in trace) > 10.0
    # e = 5, B = 30, Theta = p + e + B, A = Theta + p + (p + kappa)
    assert found["tables"]["a"]["max"] <= 10.0 + 35.0 + 10.0 + 10.0 + 60.0


def test_a_name_is_enough(terminal: Terminal) -> None:
    _, trace = terminal.traced(two_tables("adaptive"))
    assert [update["upto"] for update in trace if update["table"] == "a"][:4] == [1, 4, 7, 10]


def test_priority_can_decide_who_recovers_first(terminal: Terminal) -> None:
    scenario = two_tables({"name": "adaptive", "recovery": 1.5, "threshold": 8, "arbitration": "priority"})
    scenario["tables"]["b"] = scenario["tables"]["b"] | {"priority": 2}
    _, trace = terminal.traced(scenario)
    assert starts(trace, "b")[1:4] == [10, 12, 13]
    assert starts(trace, "a")[1:3] == [11, 14]


def test_prp_loads_the_whole_backlog_of_the_shortest_period_first(terminal: Terminal) -> None:
    scenario = two_tables("prp")
    scenario["tables"]["b"] = {"period": 1, "cost": 0.5, "outages": [[2, 10.5]]}
    _, trace = terminal.traced(scenario)
    # From 10 to 11 the track is busy with the other table's backlog, which is one update as well.
    update = next(update for update in trace if update["table"] == "b" and update["start"] >= 10)
    assert (update["start"], update["upto"]) == (11, 11)
    # At 13 both have a file, and the shorter period goes first.
    assert starts(trace, "a")[1:3] == [10, 13.5]


@pytest.mark.parametrize(
    ("scheduler", "table", "problem"),
    [
        (
            "adaptive",
            {"cost": 2},
            "adaptive is not possible: the tables keep 1.33 tracks busy and there is 1; "
            "'a' asks most, 0.667 of a track (2s every 3s). 2 tracks would do",
        ),
        (
            "adaptive",
            {"cost": 4},
            "an update of 'a' takes 4s and is due every 3s: 1.33 tracks, and a table can use one at most. "
            "A period of at least 4s would do",
        ),
        (
            {"name": "adaptive", "recovery": 0.5},
            {},
            "the recovery period of 'a', 0.5s, is shorter than its updates, 1s. Choose one between 1s and 3s.",
        ),
        (
            {"name": "adaptive", "recovery": {"b": 5}},
            {},
            "the recovery period of 'b', 5s, is longer than its period, 3s. Choose one between 1s and 3s.",
        ),
        ({"name": "adaptive", "threshold": {"c": 5}}, {}, "There is no table 'c' to give a threshold to. Known: a, b."),
        (
            {"name": "adaptive", "recovery": "slowly"},
            {},
            "'slowly' is not a recovery period. Write fastest, together, a duration, or durations by table: {a: 90s}.",
        ),
        ({"name": "adaptive", "threshold": 0}, {}, "'threshold' must be longer than 0s, not '0'."),
        (
            {"name": "adaptive", "arbitration": "prio"},
            {},
            "'prio' is not a rule of who recovers first. Did you mean 'priority'?",
        ),
        ({"name": "adaptive", "costs": "mean"}, {}, "'mean' is not a kind of costs. Known: average, worst."),
        ({"name": "adaptive", "ordering": "fifo"}, {}, "There is no setting 'scheduler.ordering'."),
        ({"name": "prp", "k": 2}, {}, "'prp' takes no 'k'."),
        ({"name": "adaptiv"}, {}, "'adaptiv' is not a scheduler. Did you mean 'adaptive'?"),
        ("adaptive", {"alpha": 1}, "'a' has a constant cost, so it cannot have 'alpha'."),
    ],
)
def test_what_cannot_be_is_told_with_its_numbers_and_what_would_do(
    terminal: Terminal, scheduler: Any, table: dict[str, Any], problem: str
) -> None:
    told = terminal.simulate(two_tables(scheduler, **table))
    assert told.code == 2
    assert problem in " ".join(told.err.split())
    assert "Traceback" not in told.err
