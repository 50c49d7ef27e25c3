"""simulate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.markup import escape
from rich.table import Table

from freshtide.cli.foretelling import BackfillOption, foretell
from freshtide.cli.output import JsonOption, console, duration, print_json
from freshtide.cli.places import HERE, ProjectOption
from freshtide.cli.predicting import compare
from freshtide.cli.variants import CostsOption, SchedulersOption, TracksOption, policy_of, track_numbers
from freshtide.core.errors import UsageError
from freshtide.project import Scenario, read_scenario
from freshtide.simulation import CompletedUpdate, Result, Simulation, relative_lateness, without_contention
from freshtide.world import SystemClock

OnUpdate = Callable[[CompletedUpdate], None]


def register(app: typer.Typer) -> None:
    app.command()(simulate)


def simulate(  # noqa: PLR0917 - typer reads options from parameters, which nobody passes by position
    scenario: Annotated[
        Path | None, typer.Argument(help="A YAML file that says what to simulate.", show_default="the project")
    ] = None,
    project: ProjectOption = HERE,
    tracks: TracksOption = None,
    scheduler: SchedulersOption = None,
    cost: CostsOption = None,
    horizon: Annotated[str | None, typer.Option(help="Of a project: how long to simulate, e.g. 2h.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of a project: seed of the execution times.")] = None,
    from_now: Annotated[
        bool, typer.Option("--from-now", help="Of a project: begin with its tables as they stand.")
    ] = False,
    backfill: BackfillOption = None,
    trace: Annotated[
        Path | None, typer.Option(help="Of a scenario: write every update into this file, a JSON object a line.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario in virtual time, or predict how stale the tables of this project get under other schedulers."""
    if scenario is None:
        if trace is not None:
            raise UsageError(
                "--trace is for scenarios.", way_out="Name one: freshtide simulate scenario.yml --trace ..."
            )
        if backfill is not None:
            if horizon is not None:
                raise UsageError("A backfill is followed until it is done: --horizon is not for that.")
            foretell(
                project,
                backfill,
                policies=[policy_of(text) for text in scheduler or ()],
                tracks=[] if tracks is None else track_numbers(tracks),
                costs=cost,
                now=SystemClock().now() if from_now else None,
                seed=seed or 0,
                as_json=as_json,
            )
            return
        compare(
            project,
            tracks=tracks,
            schedulers=scheduler or (),
            costs=cost or (),
            horizon=horizon,
            seed=seed or 0,
            from_now=from_now,
            as_json=as_json,
        )
        return
    given = {"--tracks": tracks, "--scheduler": scheduler, "--cost": cost, "--horizon": horizon, "--seed": seed}
    given |= {"--from-now": from_now or None, "--backfill": backfill}
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} is for projects.", way_out=f"Write it into {scenario}.")
    _run_scenario(scenario, trace=trace, as_json=as_json)


def _run_scenario(path: Path, *, trace: Path | None, as_json: bool) -> None:
    scenario = read_scenario(path)
    with nullcontext(None) if trace is None else _writing(trace, scenario) as on_update:
        result = _simulation(scenario).run(horizon=scenario.horizon, on_update=on_update)
    uncontended = without_contention(scenario.workload, retry=scenario.retry).run(horizon=scenario.horizon)
    if as_json:
        print_json(_json(scenario, result, uncontended))
    else:
        _print(scenario, result, uncontended)


def _simulation(scenario: Scenario) -> Simulation:
    return Simulation(scenario.workload, scenario.policy, tracks=scenario.tracks, retry=scenario.retry)


@contextmanager
def _writing(path: Path, scenario: Scenario) -> Iterator[OnUpdate]:
    """A line for each update, in the order in which they end."""
    members = {table.name: list(table.members) for table in scenario.workload.tables if table.members}
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    with file:
        yield lambda update: _write(file, update, members)


def _write(file: TextIO, update: CompletedUpdate, members: dict[str, list[str]]) -> None:
    line: dict[str, Any] = {
        "table": update.table,
        "track": update.track,
        "start": update.start,
        "end": update.end,
        "from": update.before,
        "upto": update.upto,
    }
    if update.table in members:
        line["tables"] = members[update.table]
    file.write(json.dumps(line) + "\n")


def _json(scenario: Scenario, result: Result, uncontended: Result) -> dict[str, Any]:
    shown = result.as_json(uncontended=uncontended)
    for name, lag in scenario.target_lags.items():
        table = shown["tables"][name]
        table.update({"target_lag": lag, "kept": table["max"] <= lag})
    return shown


def _print(scenario: Scenario, result: Result, uncontended: Result) -> None:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Table", "Priority", "Updates", "Mean", "95 %", "Maximum", "Final", "Stretch", "Target", ""):
        shown.add_column(name, justify="left" if name in {"Table", ""} else "right", no_wrap=True)
    flow = result.flow()
    priorities = dict(pair for table in result.tables for pair in table.shown_as)
    for name, curve in result.by_table().items():
        lag = scenario.target_lags.get(name)
        verdict = "[green]kept[/green]" if lag is not None and curve.maximum <= lag else "[red]broken[/red]"
        shown.add_row(
            escape(name),
            f"{priorities[name]:g}",
            f"{curve.updates:,}",
            *(duration(value) for value in (curve.mean, curve.quantile(0.95), curve.maximum, curve.final)),
            _ratio(flow.tables[name].stretch),
            duration(lag),
            "" if lag is None else verdict,
        )
    console.print(shown)
    busy = ", ".join(f"{share:.0%}" for share in result.utilisation)
    console.print(
        f"Weighted staleness {result.weighted_staleness:,.1f}, "
        f"{relative_lateness(result, uncontended):.3f} times that without contention. Tracks busy: {busy}.",
        soft_wrap=True,
    )
    console.print(
        f"Largest stretch {_ratio(flow.stretch)}. Total staleness {_ratio(flow.staleness_over_half_low)} times LOW/2, "
        f"which no schedule can go below; LOW {flow.low:,.1f}, penalty {flow.penalty:,.1f}.",
        soft_wrap=True,
    )
    failed = sum(result.failures.values())
    told = f", {failed:,} updates failed" if failed else ""
    console.print(f"[dim]{result.events:,} events in {duration(result.end)}{told}, seed {result.seed}.[/dim]")


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:,.3f}"
