"""What a benchmark found: tables to read, figures to keep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).with_name("results")
DATA = RESULTS / "data"

Figure = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """Rows of text under a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = [_line(self.columns, widths), _line(["-" * width for width in widths], widths)]
        lines += [_line(row, widths) for row in self.rows]
        return "\n".join([self.title, *(f"  {line}" for line in lines)])


@dataclass(slots=True, kw_only=True)
class Report:
    """The result of one benchmark."""

    name: str
    tables: list[ResultTable] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Figure]]) -> None:
        shown = tuple(tuple(_shown(value) for value in row) for row in rows)
        self.tables.append(ResultTable(title=title, columns=tuple(columns), rows=shown))

    def show(self, machine: Mapping[str, str], command: str) -> None:
        print(f"\n== {self.name}   $ {command}")
        print("   " + ", ".join(f"{name} {value}" for name, value in machine.items()))
        for table in self.tables:
            print("\n" + table.text())
        for note in self.notes:
            print(f"  {note}")

    def save(self, machine: Mapping[str, str], command: str) -> Path:
        RESULTS.mkdir(parents=True, exist_ok=True)
        path = RESULTS / f"{self.name}.json"
        path.write_text(json.dumps({"command": command, "machine": dict(machine), **asdict(self)}, indent=2) + "\n")
        return path


def _line(values: Iterable[str], widths: Iterable[int]) -> str:
    first, *others = zip(values, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(value.rjust(width) for value, width in others)])


def _shown(value: Figure) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else value
