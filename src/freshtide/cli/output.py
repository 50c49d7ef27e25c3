"""Printing: tables and sentences for people, JSON for programs, errors for both.

What is printed may come from anywhere: names of files, cells, messages of Spark. Nothing of it steers the terminal, and
no secret of the project is shown.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from freshtide.core.durations import format_duration
from freshtide.core.errors import FreshtideError, Problem, ProjectError
from freshtide.core.secrets import redacted

# Into a file or a pipe goes what a wide terminal would show: nobody can widen those.
_WIDE = 160


# All that a terminal acts upon but the ends of lines and tabs, what turns the direction of writing, and halves of
# characters, which no terminal can be sent.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with characters that steer a terminal written out."""
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], text)


def on_one_line(name: str) -> str:
    """A name that others have chosen, for a place of its own in a text: it must not look like more than one line."""
    return visible(name).replace("\n", "\\n").replace("\t", "\\t")


class _SafeConsole(Console):
    """Writes out whatever would steer the terminal, wherever it stands in what is printed. Colours are our own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(redacted(segment.text)), segment.style)


def _console(*, stderr: bool = False) -> Console:
    made = _SafeConsole(stderr=stderr, highlight=False)
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
    """What is infinite or not a number is null: JSON has no such numbers, and most programs cannot read them."""
    # Everything beyond ASCII is written out, so nothing steers a terminal.
    typer.echo(redacted(json.dumps(_readable(value), default=_plain, indent=2, allow_nan=False)))


def _readable(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list | tuple) else value


def print_text(text: str) -> None:
    """Lines that are laid out already, such as a drawing or a traceback."""
    typer.echo(visible(redacted(text)))


def print_problem(problem: Problem, *, colour: str = "red") -> None:
    place = f"[bold]{escape(str(problem.origin))}[/bold]: " if problem.origin else ""
    errors.print(f"[{colour}]●[/{colour}] {place}{escape(redacted(problem.message))}", soft_wrap=True)
    if problem.way_out:
        errors.print(f"  [dim]{escape(redacted(problem.way_out))}[/dim]", soft_wrap=True)


def fail(error: FreshtideError) -> None:
    """Tell what is wrong; of a project everything. A program that asked for JSON gets it, whatever happens."""
    problems = error.problems if isinstance(error, ProjectError) else ()
    for problem in problems or (Problem(message=error.message, way_out=error.way_out),):
        print_problem(problem)
    if problems:
        errors.print(f"[red]{number_of(len(problems), 'problem')}.[/red] Nothing was run.")
    if "--json" in sys.argv:
        told = [_problem_json(problem) for problem in problems]
        print_json({"error": error.message, "way_out": error.way_out, "problems": told})


def _problem_json(problem: Problem) -> dict[str, object]:
    origin = problem.origin
    place = {"file": None, "line": None} if origin is None else {"file": origin.file, "line": origin.line}
    return {**place, "message": problem.message, "way_out": problem.way_out}


def number_of(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(value: float | None) -> str:
    return "–" if value is None else format_duration(value)


def percent(share: float) -> str:
    """A share with one digit; all and nothing are only said of what is exactly that."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return "<0.1%" if share < 0.001 else f"{math.floor(share * 1_000) / 10:.1f}%"


def _plain(value: object) -> object:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value)
