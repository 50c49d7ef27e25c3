"""status, freshness, explain, query, audit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from freshtide.cli.feeds import feeds_json
from freshtide.cli.output import JsonOption, SelectOption, console, duration, errors, print_json, visible
from freshtide.cli.places import HERE, ProjectOption, Sight, looking_on, open_project, print_sight
from freshtide.cli.tables import counts_table, made_table, print_objective, status_table
from freshtide.core.instants import format_instant, seconds
from freshtide.observe import (
    FeedHealth,
    RowCount,
    WarehouseStatus,
    count_rows,
    feed_healths,
    select_tables,
    warehouse_status,
)
from freshtide.observe import (
    explain as explained,
)
from freshtide.planning import KeptBound, demands_of, eager_bound, kept_bounds, recoveries
from freshtide.runs import Places
from freshtide.world import SystemClock

if TYPE_CHECKING:
    from freshtide.spark import AuditResult


def register(app: typer.Typer) -> None:
    for command in (status, freshness, explain, query, audit):
        app.command()(command)


def status(
    project: ProjectOption = HERE,
    select: SelectOption = None,
    counts: Annotated[bool, typer.Option("--counts", help="Prove that no row is lost.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Save what is shown as a picture.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show every table: staleness, target lag and how much of the last hour it was kept, what waits, what runs."""
    with looking_on(project) as sight:
        loaded, catalog, going_on = sight.project, sight.catalog, sight.goes_on
        chosen = select_tables(loaded.graph, select or ())
        at = SystemClock().now()
        now = warehouse_status(loaded, catalog, at, select=chosen, run_going_on=going_on, looking_back=True)
        healths = feed_healths(loaded, catalog, now.at, run_going_on=going_on)
        bounds = kept_bounds(loaded, catalog, now.at, run_going_on=going_on)
        asked = demands_of(loaded, catalog).units
        policy, tracks = loaded.settings.policy, loaded.settings.tracks
        backlog = {table.name: table.pending for table in now.tables if table.freshness is not None}
        recovering = recoveries(asked, policy, tracks, backlog)
        eager = eager_bound(asked, policy, tracks)
        counted: list[RowCount] = []
        if counts:
            from freshtide.storage import Store

            counted = count_rows(loaded, catalog, Store(Places(loaded).tables), chosen)
    if svg is not None:
        console.record = True
    if as_json:
        shown = {**now.as_json(), "run": sight.as_json()}
        shown["feeds"] = feeds_json(now.feeds, healths)
        for table in shown["tables"]:
            name = table["name"]
            table["promise"] = bounds[name].as_json() if name in bounds else None
            table["recovery"] = recovering[name].as_json() if name in recovering else None
        shown["eager"] = eager.as_json()
        if counts:
            shown["counts"] = [_count_json(count) for count in counted]
        print_json(shown)
    elif counts:
        console.print(counts_table(counted))
    else:
        _print_status(now, bounds, healths.values(), sight)
        for recovery in recovering.values():
            console.print(f"[yellow]●[/yellow] {escape(recovery.sentence)}", soft_wrap=True)
        if eager.is_eager:
            console.print(f"[dim]{escape(eager.sentence)}[/dim]", soft_wrap=True)
    if svg is not None:
        console.save_svg(str(svg), title=f"freshtide status · {now.name}")
    unexplained = [count for count in counted if count.unaccounted or count.faults]
    if unexplained:
        errors.print("[red]Rows are unaccounted for.[/red] If a run is going on, ask again when it is idle.")
        for count in unexplained:
            errors.print(f"  {escape(count.table)}: {'; '.join(count.faults)}", soft_wrap=True)
        errors.print("If it stays so, `freshtide backfill` loads a table anew from its files.")
        raise typer.Exit(1)


def _print_status(
    now: WarehouseStatus, bounds: Mapping[str, KeptBound], healths: Iterable[FeedHealth], sight: Sight
) -> None:
    console.print(status_table(now, width=console.width, bounds=bounds))
    made = made_table(now)
    if made is not None:
        console.print(made)
    print_objective(now)
    print_sight(sight)
    for story in filter(None, (report.backfill_story for report in now.tables)):
        console.print(f"[yellow]●[/yellow] {escape(story)}", soft_wrap=True)
    if now.surroundings is not None:
        console.print(f"[red]●[/red] {escape(now.surroundings.story(now.at))}", soft_wrap=True)
    for kept in (bounds[table.name] for table in now.tables if table.name in bounds):
        if kept.is_broken:
            most, bound = duration(kept.observed), duration(kept.bound)
            told = f"'{kept.table}' got {most} stale, and {bound} were promised. {' '.join(kept.defects)}"
            console.print(f"[red]●[/red] {escape(told)}", soft_wrap=True)
    for table in now.tables:
        if table.waits_for is not None:
            told = f"'{table.name}' waits for {table.waits_for}, which is away."
            console.print(f"[yellow]●[/yellow] {escape(told)}", soft_wrap=True)
    if now.trouble:
        console.print(f"[yellow]{now.trouble}: `freshtide feeds` tells why.[/yellow]")
    for health in healths:
        if health.sentence is not None:
            console.print(f"[yellow]●[/yellow] {escape(health.sentence)}", soft_wrap=True)


def freshness(project: ProjectOption = HERE, select: SelectOption = None, as_json: JsonOption = False) -> None:
    """Show staleness against target lags; exit code 1 when one is broken."""
    with looking_on(project) as sight:
        chosen = select_tables(sight.project.graph, select or ())
        at = SystemClock().now()
        now = warehouse_status(sight.project, sight.catalog, at, select=chosen, run_going_on=sight.goes_on)
    never = [table for table in now.tables if table.target_lag is not None and table.lag is None]
    if as_json:
        keys = ("name", "freshness", "staleness", "update_staleness", "target_lag", "within_target")
        rows = [{key: table.as_json()[key] for key in keys} for table in now.tables]
        print_json({"at": format_instant(now.at), "tables": rows, "run": sight.as_json()})
    else:
        shown = Table(box=None, header_style="bold", pad_edge=False)
        for name in ("Table", "Staleness", "Target", ""):
            shown.add_column(name, justify="left" if name in {"Table", ""} else "right")
        for table in now.updated:
            verdict = {True: "[green]kept[/green]", False: "[red]broken[/red]", None: ""}[table.within_target]
            if table in never:
                verdict = "[red]never loaded[/red]"
            if table.update_staleness is not None:
                verdict = f"{verdict} [dim](its oldest pending update)[/dim]".lstrip()
            shown.add_row(table.name, duration(table.lag), duration(table.target_lag), verdict)
        console.print(shown)
        print_sight(sight)
    if now.broken or never:
        raise typer.Exit(1)


def explain(table: str, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Tell why a table is as stale as it is: which source, which queue, what goes first and why."""
    with looking_on(project) as sight:
        name = sight.project.graph.called(table).name
        told = explained(sight.project, sight.catalog, name, SystemClock().now(), run_going_on=sight.goes_on)
    if as_json:
        print_json({**told.as_json(), "run": sight.as_json()})
        return
    for sentence in told.sentences:
        console.print(f"• {escape(sentence)}", soft_wrap=True)
    print_sight(sight)


def query(
    sql: Annotated[str, typer.Argument(help="A SELECT over the warehouse's tables.")],
    project: ProjectOption = HERE,
    stable: Annotated[bool, typer.Option("--stable", help="All tables as of their common trailing edge.")] = False,
    limit: Annotated[int, typer.Option(help="Rows to show; 0 for all.")] = 100,
    as_json: JsonOption = False,
) -> None:
    """Run a SELECT over the tables, each pinned at one version."""
    loaded = open_project(project)
    from freshtide.sql import parse_query
    from freshtide.warehouse import Warehouse

    parsed = parse_query(sql)
    with Warehouse.of_project(loaded) as warehouse:
        names = {reference.source for reference in parsed.references}
        edge = warehouse.stable_edge(names) if stable else None
        frame = warehouse.query(sql, stable=stable)
        rows = (frame.limit(limit + 1) if limit else frame).toArrow()
    cut = bool(limit) and rows.num_rows > limit
    values = (rows.slice(0, limit) if cut else rows).to_pylist()
    as_of = None if edge is None else format_instant(edge)
    if as_json:
        told = [_with_odd_numbers(row) for row in values]
        print_json({"columns": rows.column_names, "rows": told, "as_of": as_of, "complete": not cut})
        return
    shown = Table(header_style="bold")
    for name in rows.column_names:
        shown.add_column(escape(visible(name)))
    for row in values:
        shown.add_row(*(_cell(value) for value in row.values()))
    console.print(shown)
    notes = [f"{len(values)} rows" + (f", more not shown (--limit {limit})" if cut else "")]
    if as_of:
        notes.append(f"as of {as_of}")
    console.print(f"[dim]{'; '.join(notes)}[/dim]")


def audit(
    tables: Annotated[list[str] | None, typer.Argument(help="Tables to check.", show_default="all")] = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Recompute derived tables from base tables as of their freshness and compare; exit code 1 on a difference."""
    loaded = open_project(project)
    from freshtide.warehouse import Warehouse

    chosen = [t for t in select_tables(loaded.graph, tables or ()) if loaded.graph[t].is_derived]
    results: list[AuditResult] = []
    with Warehouse.of_project(loaded) as warehouse, audit_progress(quiet=as_json) as progress:
        bar = progress.add_task("audit", total=len(chosen))
        for name in chosen:
            progress.update(bar, description=f"auditing {name}")
            results.extend(warehouse.audit(name))
            progress.advance(bar)
    if as_json:
        print_json([_audit_json(result) for result in results])
    else:
        print_audit(results)
        if not chosen:
            console.print("There is no derived table to audit; `freshtide status --counts` checks base tables.")
    if not all(result.passed for result in results):
        raise typer.Exit(1)


def audit_progress(*, quiet: bool) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=quiet or not errors.is_terminal,
    )


def print_audit(results: list[AuditResult]) -> None:
    for result in results:
        if result.freshness is None:
            console.print(f"[dim]– {result.table}: never updated[/dim]")
            continue
        as_of = format_instant(seconds(result.freshness))
        if result.passed:
            console.print(f"[green]✓[/green] {result.table}: {result.rows:,} rows, exactly its query as of {as_of}")
            continue
        console.print(
            f"[red]✗[/red] {result.table}: {result.missing:,} rows are missing, {result.unexpected:,} should not be "
            f"there, as of {as_of}"
        )
        for example in result.examples:
            console.print(f"    {escape(example)}", soft_wrap=True)
        console.print(f"    [dim]`freshtide backfill {result.table}` computes it anew.[/dim]")


def _audit_json(result: AuditResult) -> dict[str, Any]:
    return {
        "table": result.table,
        "freshness": None if result.freshness is None else format_instant(seconds(result.freshness)),
        "rows": result.rows,
        "missing": result.missing,
        "unexpected": result.unexpected,
        "passed": result.passed,
        "examples": list(result.examples),
    }


def _count_json(count: RowCount) -> dict[str, Any]:
    return {**{name: getattr(count, name) for name in count.__slots__}, "unaccounted": count.unaccounted}


def _with_odd_numbers(value: Any) -> Any:
    """Rows may hold numbers that JSON has none for: they are written as Spark writes them, to be told from null."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if isinstance(value, dict):
        return {key: _with_odd_numbers(item) for key, item in value.items()}
    return [_with_odd_numbers(item) for item in value] if isinstance(value, list | tuple) else value


def _cell(value: object) -> str:
    return "[dim]null[/dim]" if value is None else escape(visible(str(value)))
