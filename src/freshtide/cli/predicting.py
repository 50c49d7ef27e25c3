"""simulate, inside a project: schedulers and numbers of tracks compared over its own tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from freshtide.cli.output import console, duration, print_json
from freshtide.cli.places import looking_at
from freshtide.cli.variants import cost_of, policy_of, track_numbers
from freshtide.core.durations import parse_duration
from freshtide.core.errors import UsageError
from freshtide.planning import Prediction, Recommendation, WarehouseModel, predict, recommend, warehouse_model
from freshtide.scheduling import Policy
from freshtide.simulation import Staleness
from freshtide.world import SystemClock

_COMPARED = ("target-lag", "max-benefit", "edf-p", "fifo")
_TRACKS = (1, 2, 4)
_NAMED = 3
_BAR = 40
# The target stands here on a bar, so that what exceeds it has room.
_MARK = 26


def compare(
    folder: Path,
    *,
    tracks: str | None,
    schedulers: Sequence[str],
    costs: Sequence[str],
    horizon: str | None,
    seed: int,
    from_now: bool,
    as_json: bool,
) -> None:
    """Predict the staleness of every table for every scheduler on every number of tracks."""
    with looking_at(folder) as (project, catalog):
        model = warehouse_model(project, catalog, now=SystemClock().now() if from_now else None)
    settings = project.settings
    if not model.tables and model.update_streams:
        raise UsageError("There are only update tables and views of them, which are not simulated.")
    if not model.tables:
        raise UsageError("Every table is paused or has failed: there is nothing to simulate.")
    for text in costs:
        model = model.with_cost(*cost_of(text, project.graph))
    policies = _policies(schedulers, settings.policy)
    numbers = sorted({*_TRACKS, settings.tracks}) if tracks is None else track_numbers(tracks)
    length = model.horizon if horizon is None else parse_duration(horizon)
    if not length > 0.0:
        raise UsageError(f"The horizon must be longer than 0s, not '{horizon}'.", way_out="Write it like --horizon 2h.")
    predictions = [
        predict(model, policy, tracks=number, horizon=length, seed=seed, scheduler=name)
        for name, policy in policies.items()
        for number in numbers
    ]
    advice = recommend(model, predictions, horizon=length, seed=seed)
    if as_json:
        print_json(
            {
                "seed": seed,
                "from_now": from_now,
                "horizon": length,
                "contention": {"growth": model.contention.growth, "usual": model.contention.usual},
                "left_out": [*model.left_out, *model.update_streams],
                "model": {name: table.as_json() for name, table in model.tables.items()},
                "predictions": [prediction.as_json() for prediction in predictions],
                "recommendation": None if advice is None else advice.as_json(),
            }
        )
        return
    console.print(_comparison(predictions, advice))
    if advice is not None:
        console.print()
        console.print(_chart(advice.best))
        console.print()
        for sentence in advice.sentences:
            console.print(f"• {escape(sentence)}", soft_wrap=True)
    _print_notes(model, length, seed, from_now=from_now)


def _policies(asked: Sequence[str], own: Policy) -> Mapping[str, Policy]:
    """What to compare, by the names to show; the project's own comes first unless others are asked for."""
    if asked:
        return {text: policy_of(text) for text in asked}
    compared = {name: policy_of(name) for name in _COMPARED}
    name = next((name for name, policy in compared.items() if policy == own), "as in freshtide.yml")
    return {name: own, **compared}


def _comparison(predictions: Sequence[Prediction], advice: Recommendation | None) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("Scheduler", "Tracks", "Busy", "Weighted staleness", "Staler than wanted at times"):
        left = name in {"Scheduler", "Staler than wanted at times"}
        shown.add_column(name, justify="left" if left else "right", no_wrap=name != "Staler than wanted at times")
    for prediction in predictions:
        style = "bold" if advice is not None and prediction is advice.best else ""
        if prediction.result is None:
            reason = prediction.shortage.reason if prediction.shortage else ""
            told = f"[red]not possible[/red]: {escape(reason)}"
            shown.add_row(escape(prediction.scheduler), str(prediction.tracks), "–", "–", told)
            continue
        busy = sum(prediction.result.utilisation) / prediction.tracks
        named = ", ".join(prediction.broken[:_NAMED]) + (", …" if len(prediction.broken) > _NAMED else "")
        broken = f"[red]{len(prediction.broken)}[/red]: {escape(named)}"
        shown.add_row(
            escape(prediction.scheduler),
            str(prediction.tracks),
            f"{busy:.0%}",
            f"{prediction.result.weighted_staleness:,.1f}",
            broken if prediction.broken else "[green]none[/green]",
            style=style,
        )
    return shown


def _chart(prediction: Prediction) -> Table:
    """Each table's mean and largest staleness as a bar, with a mark at its target lag."""
    assert prediction.result is not None
    title = f"{prediction.scheduler} on {prediction.tracks} track{'s' if prediction.tracks > 1 else ''}"
    shown = Table(title=escape(title), title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in ("Table", "Mean", "Maximum", "Target"):
        shown.add_column(name, justify="left" if name == "Table" else "right", no_wrap=True)
    shown.add_column("█ mean  ░ maximum  │ target", no_wrap=True)
    for table in prediction.result.tables:
        curve = prediction.result.staleness[table.name]
        shown.add_row(
            escape(table.name),
            duration(curve.mean),
            duration(curve.maximum),
            duration(table.target_lag),
            _bar(curve, table.target_lag),
        )
    return shown


def _bar(curve: Staleness, target_lag: float | None) -> Text:
    if target_lag is None:
        return Text("")
    mean, largest = (min(_BAR, round(_MARK * value / target_lag)) for value in (curve.mean, curve.maximum))
    cells = "█" * mean + "░" * (largest - mean)
    cells = cells.ljust(max(len(cells), _MARK + 1))
    more = "…" if curve.maximum * _MARK > target_lag * _BAR else ""
    kept = curve.maximum <= target_lag
    return Text(f"{cells[:_MARK]}│{cells[_MARK + 1 :]}{more}", style="green" if kept else "red")


def _print_notes(model: WarehouseModel, horizon: float, seed: int, *, from_now: bool) -> None:
    assumed = [table.name for table in model.tables.values() if table.known_by == "assumed"]
    declared = [t.name for t in model.tables.values() if t.pattern is not None and not t.pattern.learnt]
    begun = "from now on, with the tables as they stand" if from_now else "of steady days"
    notes = [f"{duration(horizon)} simulated {begun}, seed {seed}."]
    if assumed:
        notes.append(f"Costs are assumed, for none have been learnt, of {', '.join(assumed)}: give them with --cost.")
    if declared:
        notes.append(f"Arrivals are as declared, not as seen, of {', '.join(declared)}.")
    if model.left_out:
        notes.append(f"Left out, for they are paused or have failed: {', '.join(model.left_out)}.")
    if model.update_streams:
        notes.append(f"Left out, for they are update tables or views of them: {', '.join(model.update_streams)}.")
    for note in notes:
        console.print(f"[dim]{escape(note)}[/dim]", soft_wrap=True)
