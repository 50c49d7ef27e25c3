"""`costs: learnt` in a scenario: what is expected counts at first, and then what was seen."""

from __future__ import annotations

from .scenarios import Terminal

WRONGLY_EXPECTED = """
horizon: 40
costs: learnt
scheduler: {ordering: max-benefit, allocation: global}
tables:
  quick: {period: 10, cost: 1, expected: {alpha: 9}}
  slow: {period: 10, cost: 4, expected: {alpha: 1}}
"""


def test_the_first_updates_go_by_what_is_expected_and_later_ones_by_what_was_seen(terminal: Terminal) -> None:
    _, trace = terminal.traced(WRONGLY_EXPECTED)
    assert [update["table"] for update in trace] == ["slow", "quick", "quick", "slow", "quick", "slow"]


def test_without_an_expectation_all_tables_are_taken_to_cost_the_same(terminal: Terminal) -> None:
    scenario = "horizon: 25\ncosts: learnt\nscheduler: fifo\ntables: {a: {period: 10, cost: 3}}\n"
    _, trace = terminal.traced(scenario)
    assert [(update["start"], update["end"]) for update in trace] == [(10, 13), (20, 23)]


def test_a_group_is_expected_to_cost_what_its_tables_cost_one_by_one(terminal: Terminal) -> None:
    """2 x 3 seconds are more than the 5 of the other, so that goes first; 4 seconds are less."""
    scenario = """
horizon: 12
costs: learnt
scheduler: {ordering: max-benefit, allocation: global, inheritance: none}
tables:
  x: {period: 10, priority: 0.5, alpha: 1, expected: {alpha: 3}}
  y: {period: 10, priority: 0.5, alpha: 1, expected: {alpha: 3}}
  other: {period: 10, alpha: 1, expected: {alpha: 5}}
groups:
  pair: {tables: [x, y]}
"""
    _, trace = terminal.traced(scenario)
    assert trace[0]["table"] == "other"
    _, trace = terminal.traced(scenario.replace("[x, y]", "[x, y], expected: {alpha: 4}"))
    assert trace[0]["table"] == "pair"
