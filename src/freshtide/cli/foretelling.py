"""plan and simulate with --backfill: how long a backfill takes, and whom it costs, before it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from freshtide.catalog import Catalog
from freshtide.cli.output import console, duration, print_json
from freshtide.cli.places import looking_at
from freshtide.cli.variants import cost_of
from freshtide.core.errors import UsageError
from freshtide.planning import Foresight, foresee, warehouse_model
from freshtide.project import Project
from freshtide.requests import require_rebuildable
from freshtide.scheduling import Policy

BackfillOption = Annotated[
    str | None,
    typer.Option("--backfill", help="Of a project: a table; tell how long its backfill takes and whom it costs."),
]


def foreseen(
    project: Project,
    catalog: Catalog,
    table: str,
    *,
    policy: Policy,
    tracks: int,
    costs: list[str] | None = None,
    now: float | None = None,
    seed: int = 0,
) -> Foresight:
    """What a backfill comes to; from a moment on, with the tables as they stand then."""
    name = project.graph.called(table).name
    require_rebuildable(catalog.tables.get(name))
    model = warehouse_model(project, catalog, now=now)
    for text in costs or ():
        model = model.with_cost(*cost_of(text, project.graph))
    return foresee(project, catalog, name, model=model, policy=policy, tracks=tracks, seed=seed)


def foretell(
    folder: Path,
    table: str,
    *,
    policies: list[Policy],
    tracks: list[int],
    costs: list[str] | None,
    now: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print how stale every table gets with a backfill and without."""
    if len(policies) > 1 or len(tracks) > 1:
        raise UsageError("A backfill is foreseen for one scheduler and one number of tracks.")
    with looking_at(folder) as (project, catalog):
        made = foreseen(
            project,
            catalog,
            table,
            policy=policies[0] if policies else project.settings.policy,
            tracks=tracks[0] if tracks else project.settings.tracks,
            costs=costs,
            now=now,
            seed=seed,
        )
    if as_json:
        print_json({"seed": seed, "from_now": now is not None, "backfill": made.as_json()})
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Table", "At worst without", "With", "Target", ""):
        shown.add_column(name, justify="left" if name in {"Table", ""} else "right", no_wrap=True)
    for cost in made.costs:
        verdict = "[red]missed for it[/red]" if cost.breaks_target else ""
        shown.add_row(
            escape(cost.table), duration(cost.without), duration(cost.beside), duration(cost.target_lag), verdict
        )
    console.print(shown)
    print_foresight(made)
    console.print(f"[dim]{duration(made.horizon)} simulated, seed {seed}.[/dim]")


def print_foresight(made: Foresight) -> None:
    for sentence in made.sentences:
        console.print(f"• {escape(sentence)}", soft_wrap=True)
