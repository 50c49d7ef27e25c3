"""demo: a network-operations warehouse, fed by a generator."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from freshtide.cli.output import console, duration
from freshtide.core.durations import parse_duration
from freshtide.observe import TableCurve
from freshtide.world import SystemClock

if TYPE_CHECKING:
    from freshtide.spark import AuditResult
    from freshtide.warehouse import Warehouse


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to create the demo project.")] = Path("demo"),
    length: Annotated[str, typer.Option("--for", help="How long to run.")] = "60s",
    seed: Annotated[int, typer.Option(help="Seed of the generated data.")] = 7,
) -> None:
    """Run a network-operations warehouse on generated data for a minute, and audit it."""
    seconds = parse_duration(length)
    from freshtide.cli.live import run_in_foreground
    from freshtide.cli.reports import audit_progress, print_audit
    from freshtide.cli.tables import counts_table
    from freshtide.demo import Generator, create_demo, feed_live
    from freshtide.observe import count_rows, staleness_curves
    from freshtide.warehouse import Warehouse

    create_demo(folder)
    console.print(f"Created the demo project in [bold]{escape(str(folder))}[/bold]. Starting Spark …")
    clock = SystemClock()
    with Warehouse.open(folder) as warehouse:
        bench = warehouse.workbench
        began = clock.now()
        generator = Generator(folder, seed=seed, start=began)

        def generate(stop: threading.Event) -> None:
            feed_live(generator, clock, stop).join()

        report = run_in_foreground(warehouse, seconds=seconds, meanwhile=generate)
        ended = clock.now()
        curves = staleness_curves(bench.catalog, since=began, until=ended)
        counts = count_rows(warehouse.project, bench.catalog, bench.store, tuple(warehouse.project.graph))
        with audit_progress(quiet=False) as progress:
            names = [t.name for t in warehouse.project.graph.values() if t.is_derived]
            bar = progress.add_task("auditing", total=len(names))
            results: list[AuditResult] = []
            for name in names:
                results.extend(warehouse.audit(name))
                progress.advance(bar)
    console.rule("Rows")
    console.print(counts_table(counts))
    console.rule("Staleness")
    console.print(_curves_table(warehouse, curves))
    console.rule("Audit")
    print_audit(results)
    console.rule("Summary")
    loaded = sum(count.in_table for count in counts)
    kept = sum(1 for t in warehouse.project.graph.values() if _kept(t.target_lag, curves.get(t.name)))
    targets = sum(1 for t in warehouse.project.graph.values() if t.target_lag is not None)
    audited = [result for result in results if result.freshness is not None]
    passed = sum(result.passed for result in audited)
    console.print(
        f"{loaded:,} rows loaded by {report.updates} updates in {duration(ended - began)}; {kept} of {targets} tables "
        f"kept their target lag all the time; {passed} of {len(audited)} views passed the audit"
        f"{'' if len(audited) == len(results) else f', {len(results) - len(audited)} have no data yet'}."
    )
    console.print("Try next, on the same project:")
    for command, what in (
        ("freshtide status -p demo", "how every table stands"),
        ("freshtide explain network_health -p demo", "why a table is as stale as it is"),
        ('freshtide query "SELECT * FROM network_health ORDER BY 1 DESC LIMIT 5" -p demo', "ask it something"),
        ("freshtide feeds -p demo", "what arrived and what was put aside"),
        ("freshtide run -p demo", "keep it running (drop files into demo/landing)"),
    ):
        here = command.replace("freshtide", _program(), 1).replace("-p demo", f"-p {folder}")
        console.print(f"  [bold]{escape(here)}[/bold]\n      [dim]{what}[/dim]", soft_wrap=True)
    if report.failed or passed < len(audited) or any(count.unaccounted for count in counts):
        raise typer.Exit(1)


def _curves_table(warehouse: Warehouse, curves: dict[str, TableCurve]) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Table", "Updates", "Mean", "Maximum", "Target", ""):
        shown.add_column(name, justify="left" if name in {"Table", ""} else "right")
    for table in warehouse.project.graph.values():
        curve = curves.get(table.name)
        if curve is None:
            shown.add_row(table.name, "0", "–", "–", duration(table.target_lag), "[red]never updated[/red]")
            continue
        verdict = "[green]kept[/green]" if _kept(table.target_lag, curve) else "[red]broken[/red]"
        shown.add_row(
            table.name,
            str(curve.updates),
            duration(curve.mean),
            duration(curve.maximum),
            duration(table.target_lag),
            verdict if table.target_lag is not None else "",
        )
    return shown


def _program() -> str:
    """How to call this program from where the user is."""
    if shutil.which("freshtide"):
        return "freshtide"
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return f"{os.path.relpath(sys.executable)} -m freshtide"
    return os.path.relpath(program)


def _kept(target: float | None, curve: TableCurve | None) -> bool:
    return target is not None and curve is not None and curve.maximum <= target
