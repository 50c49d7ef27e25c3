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

from freshtide.cli.output import JsonOption, console, duration, print_json
from freshtide.core.errors import UsageError
from freshtide.project import Scenario, read_scenario
from freshtide.simulation import CompletedUpdate, Result, Simulation, relative_lateness, without_contention

OnUpdate = Callable[[CompletedUpdate], None]


def register(app: typer.Typer) -> None:
    app.command()(simulate)


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A YAML file that says what to simulate.", show_default=False)],
    trace: Annotated[Path | None, typer.Option(help="Write every update into this file, a JSON object a line.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario in virtual time and show how stale its tables get."""
    loaded = read_scenario(scenario)
    with nullcontext(None) if trace is None else _writing(trace, loaded) as on_update:
        result = _simulation(loaded).run(horizon=loaded.horizon, on_update=on_update)
    uncontended = without_contention(loaded.workload, loaded.policy).run(horizon=loaded.horizon)
    if as_json:
        print_json(_json(loaded, result, uncontended))
    else:
        _print(loaded, result, uncontended)


def _simulation(scenario: Scenario) -> Simulation:
    return Simulation(scenario.workload, scenario.policy, tracks=scenario.tracks)


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
    for name in ("Table", "Priority", "Updates", "Mean", "95 %", "Maximum", "Final", "Target", ""):
        shown.add_column(name, justify="left" if name in {"Table", ""} else "right", no_wrap=True)
    priorities = dict(pair for table in result.tables for pair in table.shown_as)
    for name, curve in result.by_table().items():
        lag = scenario.target_lags.get(name)
        verdict = "[green]kept[/green]" if lag is not None and curve.maximum <= lag else "[red]broken[/red]"
        shown.add_row(
            escape(name),
            f"{priorities[name]:g}",
            f"{curve.updates:,}",
            *(duration(value) for value in (curve.mean, curve.quantile(0.95), curve.maximum, curve.final, lag)),
            "" if lag is None else verdict,
        )
    console.print(shown)
    busy = ", ".join(f"{share:.0%}" for share in result.utilisation)
    console.print(
        f"Weighted staleness {result.weighted_staleness:,.1f}, "
        f"{relative_lateness(result, uncontended):.3f} times that without contention. Tracks busy: {busy}.",
        soft_wrap=True,
    )
    console.print(f"[dim]{result.events:,} events in {duration(result.end)}, seed {result.seed}.[/dim]")
