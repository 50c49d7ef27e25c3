"""trace: what the scheduler was told and decided, and whether it would decide so again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from freshtide.cli.output import JsonOption, console, print_json
from freshtide.cli.places import HERE, ProjectOption, open_project
from freshtide.core.instants import format_instant
from freshtide.runs import Difference, Places, Replay, replay_trace

app = typer.Typer(help="Work with what the scheduler was told and decided.", no_args_is_help=True)


@app.callback()
def trace() -> None:
    """Work with what the scheduler was told and decided."""


@app.command()
def replay(
    file: Annotated[Path | None, typer.Argument(help="A trace.", show_default="the project's")] = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Tell a fresh scheduler the same and compare; exit code 1 where it decides differently."""
    found = replay_trace(file if file is not None else Places(open_project(project)).trace)
    if as_json:
        print_json(_as_json(found))
    else:
        _tell(found)
    if found.difference is not None:
        raise typer.Exit(1)


def _tell(found: Replay) -> None:
    if found.skipped:
        console.print(f"[yellow]{_decisions(found.skipped)} skipped: the beginning of their run is gone.[/yellow]")
    difference = found.difference
    if difference is None:
        runs = f"{found.runs} run{'' if found.runs == 1 else 's'}"
        console.print(f"[green]✓[/green] {_decisions(found.decisions)} in {runs}, all the same.")
        return
    place = escape(f"{difference.file}:{difference.line}")
    console.print(f"[red]✗[/red] {place}: another decision at {format_instant(difference.now)}.", soft_wrap=True)
    for title, commands in (("recorded", difference.recorded), ("replayed", difference.replayed)):
        for command in _unlike(commands, difference) or ["nothing"]:
            console.print(f"  {title}: {escape(command)}", soft_wrap=True)


def _unlike(commands: list[Any], difference: Difference) -> list[str]:
    """The commands that only one of the two has, as they are written."""
    others = difference.replayed if commands is difference.recorded else difference.recorded
    unlike = [command for command in commands if command not in others]
    # The same commands in another order: then the order is what differs.
    return [json.dumps(command) for command in (unlike or commands)]


def _decisions(count: int) -> str:
    return f"{count:,} decision{'' if count == 1 else 's'}"


def _as_json(found: Replay) -> dict[str, Any]:
    difference = found.difference
    shown: dict[str, Any] = {"runs": found.runs, "decisions": found.decisions, "skipped": found.skipped}
    told = None if difference is None else {name: getattr(difference, name) for name in Difference.__slots__}
    return shown | {"same": difference is None, "difference": told}
