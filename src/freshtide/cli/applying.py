"""apply: a changed project takes effect in the run that is going on."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.markup import escape

from freshtide.catalog import Catalog, RequestKind
from freshtide.cli.output import JsonOption, console, errors, number_of, print_json, print_problem
from freshtide.cli.places import HERE, ProjectOption, looking_on, open_project
from freshtide.core.errors import Problem, RunFailedError, UsageError
from freshtide.project import Changes, Project, What
from freshtide.requests import ask_the_run
from freshtide.world import SystemClock

# What follows takes as long as Spark needs to look at every query.
_TAKEN_UP_WITHIN = 30.0
_SIGNS = {What.ADDED: "[green]+[/green]", What.CHANGED: "[yellow]~[/yellow]", What.REMOVED: "[red]-[/red]"}


class NotConfirmedError(UsageError):
    """Changes that somebody has to agree to, and nobody did."""


def register(app: typer.Typer) -> None:
    app.command()(apply)


def apply(
    project: ProjectOption = HERE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before tables are computed anew.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let the project take effect in the run that is going on, without stopping it; shows what changes first."""
    edited = open_project(project)
    with looking_on(project) as sight:
        if not sight.goes_on and sight.starting is None:
            _tell_at_rest(edited, as_json)
            return
        loaded, catalog = sight.project, sight.catalog
        if sight.starting is not None:
            # It has read the project before, and compares when it can.
            errors.print(f"A run is starting ({sight.starting}): waiting until it can answer …", soft_wrap=True)
        changes = Changes.from_json(json.loads(_ask(loaded, catalog, RequestKind.PLAN, "")))
        notes = _new_notes(loaded, edited)
        if not as_json:
            _show(changes)
            for note in notes:
                print_problem(note, colour="yellow")
        message = None
        if changes and not dry_run:
            _require_agreement(changes, yes=yes)
            message = _ask(loaded, catalog, RequestKind.APPLY, changes.digest)
    if as_json:
        told = [str(note) for note in notes]
        _print(changes, running=True, applied=message is not None, message=message, notes=told)
    elif message is not None:
        console.print(f"Applied {number_of(len(changes.items), 'change')}; the run goes on with them.")


def _ask(project: Project, catalog: Catalog, kind: RequestKind, target: str) -> str:
    at = SystemClock().now()
    try:
        return ask_the_run(project, catalog, kind, target, at=at, taken_up_within=_TAKEN_UP_WITHIN)
    except RunFailedError as error:
        raise RunFailedError(error.message, way_out="Nothing was changed: the run goes on as it was.") from error


def _tell_at_rest(project: Project, as_json: bool) -> None:
    tables, feeds = number_of(len(project.graph), "table"), number_of(len(project.feeds), "feed")
    message = f"The warehouse does not run. The next run takes the project as it is: {tables}, {feeds}."
    if as_json:
        print_json({"running": False, "applied": False, "changes": [], "message": message})
    else:
        console.print(message, soft_wrap=True)


def _new_notes(before: Project, after: Project) -> list[Problem]:
    """What is to be said about the project, as about a target that cannot be kept, and was not so before."""
    known = {note.message for note in before.notes}
    return [note for note in after.notes if note.message not in known]


def _show(changes: Changes) -> None:
    if not changes:
        console.print("The run is what the project says already: nothing changes.")
    for change in changes:
        console.print(f"{_SIGNS[change.what]} {escape(str(change))}", soft_wrap=True)
        if change.note is not None:
            console.print(f"  [dim]{escape(change.note)}[/dim]", soft_wrap=True)


def _require_agreement(changes: Changes, *, yes: bool) -> None:
    """Somebody should know before tables are computed anew: until then their dependents wait."""
    if not changes.anew or yes:
        return
    what = f"{number_of(len(changes.anew), 'table')} computed anew: {', '.join(changes.anew)}"
    if not (sys.stdin.isatty() and errors.is_terminal):
        raise NotConfirmedError(f"Nothing was changed. {what}.", way_out="Say --yes if that is meant.")
    if not typer.confirm(f"{what}. Go on?", err=True):
        raise NotConfirmedError("Nothing was changed.")


def _print(changes: Changes, **more: Any) -> None:
    print_json({**more, **changes.as_json()})
