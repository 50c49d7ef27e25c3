"""Scenario files through the command line, and an account of their traces that shares nothing with the simulator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.commands import freshtide


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


class Terminal:
    """Types commands about what is in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def type(self, *words: str) -> Answer:
        done = freshtide(*words, at=Path())
        return Answer(done.returncode, done.stdout, done.stderr)

    def simulate(self, scenario: str | dict[str, Any], *words: str) -> Answer:
        """Write the scenario into a file and simulate it."""
        text = scenario if isinstance(scenario, str) else yaml.safe_dump(scenario, sort_keys=False)
        (self.folder / "scenario.yml").write_text(text, encoding="utf-8")
        return self.type("simulate", str(self.folder / "scenario.yml"), *words)

    def traced(self, scenario: str | dict[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
        """The result and the trace of a scenario."""
        trace = self.folder / "trace.jsonl"
        result = self.simulate(scenario, "--json", "--trace", str(trace)).json
        return result, [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]


def steps(trace: Sequence[dict[str, Any]], table: str) -> list[tuple[float, float]]:
    """(moment, freshness from then on) of a table, alone or in a group, from time 0 on."""
    return [(0.0, 0.0), *((u["end"], u["upto"]) for u in trace if table in u.get("tables", [u["table"]]))]


def area(trace: Sequence[dict[str, Any]], table: str, start: float, end: float) -> float:
    """The integral of the table's staleness."""
    known = steps(trace, table)
    total = 0.0
    for (moment, freshness), (until, _) in zip(known, [*known[1:], (end, 0.0)], strict=True):
        low, high = max(moment, start), min(until, end)
        if low < high:
            total += (high - low) * ((low + high) / 2 - freshness)
    return total


def staleness_at(trace: Sequence[dict[str, Any]], table: str, time: float) -> float:
    return time - [freshness for moment, freshness in steps(trace, table) if moment <= time][-1]
