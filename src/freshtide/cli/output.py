"""Printing: tables and sentences for people, JSON for programs, errors for both."""

from __future__ import annotations

import json
import os
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from freshtide.core.durations import format_duration
from freshtide.core.errors import FreshtideError, Problem, ProjectError

# Into a file or a pipe goes what a wide terminal would show: nobody can widen those.
_WIDE = 160


def _console(*, stderr: bool = False) -> Console:
    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _WIDE
    return made


console = _console()
errors = _console(stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
SelectOption = Annotated[
    list[str] | None,
    typer.Option("--select", "-s", help="Tables to show: names, globs, +table with ancestors, table+ with dependents."),
]


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, default=_plain, indent=2))


def print_problem(problem: Problem, *, colour: str = "red") -> None:
    place = f"[bold]{escape(str(problem.origin))}[/bold]: " if problem.origin else ""
    errors.print(f"[{colour}]●[/{colour}] {place}{escape(problem.message)}", soft_wrap=True)
    if problem.way_out:
        errors.print(f"  [dim]{escape(problem.way_out)}[/dim]", soft_wrap=True)


def failed_project(error: ProjectError) -> None:
    """Everything that is wrong with a project."""
    for problem in error.problems:
        print_problem(problem)
    errors.print(f"[red]{number_of(len(error.problems), 'problem')}.[/red] Nothing was run.")


def fail(error: FreshtideError) -> None:
    print_problem(Problem(message=error.message, way_out=error.way_out))


def number_of(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(value: float | None) -> str:
    return "–" if value is None else format_duration(value)


def _plain(value: object) -> object:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value)
