"""flow run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from freshtide.catalog import RunLock
from freshtide.cli.flows import FlowArgument, flow_called
from freshtide.cli.output import JsonOption, console, duration, errors, number_of, print_json
from freshtide.cli.places import HERE, ProjectOption, open_project
from freshtide.flows import FlowGraph, Limits, port_label
from freshtide.project import parse_size
from freshtide.runs import Places

if TYPE_CHECKING:
    from freshtide.spark.flows import FlowReport


def register(app: typer.Typer) -> None:
    app.command("run")(run_flow)


def run_flow(  # noqa: PLR0917 - typer reads options from parameters, which nobody passes by position
    name: FlowArgument,
    project: ProjectOption = HERE,
    policy: Annotated[
        str,
        typer.Option(
            help="Which activity runs next: mixed (mp), round-robin (rr), minimum-cost (mc), minimum-memory (mm)."
        ),
    ] = "mixed",
    memory: Annotated[
        str | None,
        typer.Option(
            help="How much may wait between activities, e.g. 64MB; the rest waits on disk.", show_default="no limit"
        ),
    ] = None,
    queue: Annotated[
        int | None, typer.Option(help="Packs that may wait before an activity.", show_default="100")
    ] = None,
    pack_rows: Annotated[int | None, typer.Option(help="Rows of a pack.", show_default="100000")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a flow: read its sources, and commit all of its targets together."""
    from freshtide.spark.flows import PACK_ROWS, policy_named

    chosen = policy_named(policy)
    budget = None if memory is None else parse_size(memory)
    limits = Limits(memory=budget) if queue is None else Limits(packs=queue, memory=budget)
    loaded = open_project(project)
    flow = flow_called(loaded, name)
    RunLock(Places(loaded).lock).require_free()
    from freshtide.warehouse import Warehouse

    if not as_json:
        errors.print(f"Starting Spark for [bold]{escape(loaded.settings.name)}[/bold] …")
    with Warehouse.of_project(loaded) as warehouse, _bars(flow, quiet=as_json) as bars:
        report = warehouse.run_flow(
            flow.name,
            policy=chosen,
            limits=limits,
            pack_rows=PACK_ROWS if pack_rows is None else pack_rows,
            on_progress=bars,
        )
    if as_json:
        print_json(report.as_json())
        return
    _print(flow, report)


class _Bars:
    """A bar per activity: how many of the rows that its producers gave have gone into it."""

    def __init__(self, flow: FlowGraph, progress: Progress) -> None:
        self._flow = flow
        self._progress = progress
        self._tasks: dict[str, TaskID] = {node.name: progress.add_task(node.name, total=None) for node in flow}
        self._out = {node.name: 0 for node in flow}

    def __call__(self, name: str, rows_in: int, rows_out: int) -> None:
        self._out[name] = rows_out
        node = self._flow[name]
        given = sum(self._out[producer] for producer, _ in node.inputs) if node.inputs else rows_in
        self._progress.update(self._tasks[name], completed=rows_in, total=max(given, rows_in))


@contextmanager
def _bars(flow: FlowGraph, *, quiet: bool) -> Iterator[_Bars]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f} rows"))
    with Progress(*columns, console=errors, transient=True, disable=quiet or not errors.is_terminal) as progress:
        yield _Bars(flow, progress)


def _print(flow: FlowGraph, report: FlowReport) -> None:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("Activity", "Kind", "From", "Rows in", "Rows out"):
        shown.add_column(title, justify="right" if title == "Rows in" else "left")
    for node in flow:
        tally = report.record.tallies[node.name]
        outs = [
            f"{tally.rows_out.get(port, 0):,}" + ("" if port == "out" else f" {port}") for port in node.activity.ports
        ]
        sources = ", ".join(port_label(producer, port) for producer, port in node.inputs)
        shown.add_row(
            escape(node.name), node.activity.kind, escape(sources), f"{tally.rows_in:,}", escape(", ".join(outs))
        )
    console.print(shown)
    record = report.record
    console.print(
        f"Committed {number_of(len(report.targets), 'target')} together, under {report.policy}, "
        f"in {duration(report.seconds)}. At most {record.maximum_size / 1e6:,.1f} MB waited in memory"
        + (f"; {number_of(record.spilled_packs, 'pack')} waited on disk." if record.spilled_packs else "."),
        soft_wrap=True,
    )
