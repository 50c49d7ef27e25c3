"""init, validate, doctor."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from freshtide.cli.output import JsonOption, console, number_of, print_json, print_problem
from freshtide.cli.places import HERE, ProjectOption, open_project
from freshtide.core.latest import LatestSemantics
from freshtide.core.tables import Table
from freshtide.project import Project


def register(app: typer.Typer) -> None:
    app.command()(init)
    app.command()(validate)
    app.command()(doctor)


def init(
    folder: Annotated[Path, typer.Argument(help="Where to create it.")] = HERE,
    name: Annotated[str | None, typer.Option(help="The project's name.", show_default="the folder's")] = None,
) -> None:
    """Create a small project that runs as it is."""
    from freshtide.project import create_starter

    created = create_starter(folder, name or folder.resolve().name)
    console.print(f"Created {len(created)} files in [bold]{escape(str(folder.resolve()))}[/bold].")
    there = "" if folder == HERE else f"cd {folder} && "
    console.print(f"Next: [bold]{escape(there)}freshtide run --once[/bold], then [bold]freshtide status[/bold].")


def validate(project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Check the project, Spark's column resolution included, without running anything."""
    from freshtide.runs import Places
    from freshtide.runtime import loading_flows, open_store
    from freshtide.spark import SparkTracks, against_changes, as_of_joins, resolve_columns, start_session

    loaded = open_project(project)
    tracks = SparkTracks(start_session(loaded.settings.spark, log=Places(loaded).spark_log))
    try:
        flows = loading_flows(loaded, open_store(loaded))
        session = tracks.session("analysis")
        schemas = resolve_columns(session, loaded.feeds, loaded.graph, flows=flows)
        against = against_changes(session, loaded.graph, schemas)
        as_of = as_of_joins(session, loaded.graph, schemas)
    finally:
        tracks.stop()
    learnt = _learnt(loaded)
    if as_json:
        tables = [
            {
                "name": table.name,
                "maintain": str(table.maintain),
                "reason": table.maintenance_reason,
                "can_follow_changes": against[table.name] is None if table.name in against else None,
                "against_changes": against.get(table.name),
                "as_of_joins": list(as_of.get(table.name, ())),
                "is_chosen": table.may_follow,
                "chosen_last": learnt.get(table.name),
                "time_column": table.time_column,
                "updates": _updates_json(table.latest),
                "columns": schemas.types(table.name),
            }
            for table in loaded.graph.values()
        ]
        notes = [str(note) for note in loaded.notes]
        print_json({"valid": True, "tables": tables, "flows": list(loaded.flows), "notes": notes})
        return
    for note in loaded.notes:
        print_problem(note, colour="yellow")
    for name, operator in against.items():
        told = _maintenance(loaded.graph[name], operator, learnt.get(name))
        console.print(f"[dim]{escape(told)}[/dim]", soft_wrap=True)
    for name, joins in as_of.items():
        told = f"'{name}' joins as of a time: {'; '.join(joins)}. From changes it is followed by key."
        console.print(f"[dim]{escape(told)}[/dim]")
    found = f"{len(loaded.feeds)} feeds and {len(loaded.graph)} tables"
    if loaded.flows:
        found = f"{len(loaded.feeds)} feeds, {len(loaded.graph)} tables and {number_of(len(loaded.flows), 'flow')}"
    console.print(f"[green]●[/green] {escape(loaded.settings.name)}: {found} are valid.")


def _learnt(project: Project) -> dict[str, str]:
    """What was said of the last choice between full and changes, of views that have been updated."""
    from freshtide.catalog import Catalog
    from freshtide.core.definitions import fingerprints
    from freshtide.runs import Places

    catalog, definitions = Catalog.peek(Places(project).catalog_url), fingerprints(project.graph)
    try:
        rows = catalog.tables.all().values()
    finally:
        catalog.close()
    known = {row.name: row.learnt.of(definitions[row.name]).why for row in rows if row.name in definitions}
    return {name: why for name, why in known.items() if why}


def _maintenance(table: Table, operator: str | None, chosen: str | None) -> str:
    """How a view is maintained that is neither appended to nor updated by partitions."""
    if operator is not None:
        return (
            f"'{table.name}' is computed in full: {operator} has no rule. Without that it could be maintained from "
            "changes."
        )
    if not table.may_follow:
        return f"'{table.name}' is computed in full. It can be maintained from changes."
    told = f"'{table.name}' is computed in full or from changes, whichever takes less time."
    return f"{told} The last update was {chosen}." if chosen else told


def _updates_json(updates: LatestSemantics | None) -> dict[str, Any] | None:
    if updates is None:
        return None
    windows = updates.windows
    shown = None if windows is None else {**asdict(windows), "semantics": str(windows.semantics)}
    return {"key": list(updates.key), "order": str(updates.order), "windows": shown}


def doctor(
    project: ProjectOption = HERE,
    deep: Annotated[bool, typer.Option("--deep", help="Check the files of all tables against their logs.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is missing on this machine or in this project, and what to do about it."""
    from freshtide.cli.checks import check_everything

    findings = check_everything(project, deep=deep)
    if as_json:
        print_json([{"check": f.check, "ok": f.ok, "found": f.found, "way_out": f.way_out} for f in findings])
    else:
        for finding in findings:
            mark = "[green]✓[/green]" if finding.ok else "[red]✗[/red]"
            console.print(f"{mark} {finding.check}: {escape(finding.found)}", soft_wrap=True)
            if not finding.ok and finding.way_out:
                console.print(f"    [dim]{escape(finding.way_out)}[/dim]", soft_wrap=True)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
