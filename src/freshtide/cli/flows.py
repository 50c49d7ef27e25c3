"""flow: what flows there are, and what they look like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from freshtide.cli.output import JsonOption, console, print_json, print_text
from freshtide.cli.places import HERE, ProjectOption, open_project
from freshtide.core.errors import RunFailedError, UsageError, suggestion
from freshtide.flows import FlowGraph, break_into_subflows, derive_strata, port_label, written_recordsets
from freshtide.flows.drawing import draw_svg, draw_text, summary
from freshtide.flows.policies import plan_mixed
from freshtide.project import Project

app = typer.Typer(help="Work with flows: list them, look at one, run one.", no_args_is_help=True)

FlowArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a flow.")]


@app.command("list")
def list_flows(project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """List the flows of the project."""
    flows = open_project(project).flows.values()
    if as_json:
        print_json([_overview(flow) for flow in flows])
        return
    if not flows:
        console.print("There are no flows. Declare them in YAML or Python in the folder flows/.")
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Flow", "Activities", "Subflows", "Strata", "Writes", "Declared in"):
        shown.add_column(name, justify="right" if name in {"Activities", "Subflows", "Strata"} else "left")
    for flow in flows:
        told = _overview(flow)
        counts = (str(told[key]) for key in ("activities", "subflows", "strata"))
        shown.add_row(flow.name, *counts, escape(", ".join(told["writes"])), escape(told["declared_in"]))
    console.print(shown)


@app.command()
def show(
    name: FlowArgument,
    project: ProjectOption = HERE,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into an SVG file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a flow: its activities, which of them block, subflows and strata."""
    flow = flow_called(open_project(project), name)
    if svg is not None:
        _save(svg, draw_svg(flow))
    if as_json:
        print_json(_as_json(flow))
    elif svg is not None:
        console.print(f"Drew '{escape(flow.name)}' into {escape(str(svg))}.", soft_wrap=True)
    else:
        print_text(draw_text(flow))


def flow_called(project: Project, name: str) -> FlowGraph:
    """The flow of this name, in any case."""
    found = {flow.name.lower(): flow for flow in project.flows.values()}.get(name.lower())
    if found is None:
        raise UsageError(f"There is no flow '{name}'.", way_out=suggestion(name, project.flows))
    return found


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"The drawing cannot be written to {path}: {error.strerror or error}."
        raise RunFailedError(message, way_out="Name a file in a folder that exists and can be written to.") from error


def _overview(flow: FlowGraph) -> dict[str, Any]:
    subflows = break_into_subflows(flow)
    return {
        "name": flow.name,
        "activities": len(flow.nodes),
        "subflows": len(subflows),
        "strata": len(derive_strata(flow, subflows)),
        "writes": [target.label for node in flow for target in written_recordsets(node)],
        "declared_in": str(flow.origin),
    }


def _as_json(flow: FlowGraph) -> dict[str, Any]:
    strata = plan_mixed(flow)
    place = {
        name: (planned.subflow.number, number)
        for number, stratum in enumerate(strata)
        for planned in stratum
        for name in planned.subflow.nodes
    }
    return {
        **_overview(flow),
        "strata": [
            [
                {"subflow": each.subflow.number, "policy": each.policy, "activities": list(each.subflow.nodes)}
                for each in stratum
            ]
            for stratum in strata
        ],
        "activities": [
            {
                "name": node.name,
                "kind": node.activity.kind,
                "summary": summary(node.activity),
                "from": [port_label(producer, port) for producer, port in node.inputs],
                "outputs": list(node.activity.ports),
                "blocks": node.activity.blocks,
                "memory_intensive": node.activity.memory_intensive,
                "subflow": place[node.name][0],
                "stratum": place[node.name][1],
                "declared_in": str(node.origin),
            }
            for node in flow
        ],
    }
