"""experiment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from freshtide.cli.output import JsonOption, console, errors, print_json
from freshtide.core.errors import UsageError, choices
from freshtide.project.loading import PROJECT_FILE
from freshtide.project.settings import read_settings
from freshtide.project.yamlfile import read_yaml
from freshtide.simulation.experiments import (
    EXPERIMENTS,
    Conditions,
    Curves,
    Experiment,
    Spread,
    over_processes,
    plot,
    require_format,
    run_experiment,
)

if TYPE_CHECKING:
    from freshtide.spark.experiments import FlowBench

# A longer table is no longer looked at row by row.
_MOST_ROWS = 40


def register(app: typer.Typer) -> None:
    app.command()(experiment)


def experiment(  # noqa: PLR0917 - typer reads options from parameters, which nobody passes by position
    name: Annotated[
        str | None, typer.Argument(help="The figure to reproduce; --list names them all.", show_default=False)
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(
            min=1, help="Arrivals and completions that each point is the result of.", show_default="the experiment's"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.")] = 1,
    figure: Annotated[
        Path | None, typer.Option("--plot", help="Draw the curves into this SVG, PNG or PDF file.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Spread the points over this Spark cluster, e.g. spark://host:7077.",
            show_default="the project's, if it is one",
        ),
    ] = None,
    stretch: Annotated[
        float, typer.Option(min=0.01, help="Make slow and normal times so many times as long as they are chosen.")
    ] = 1.0,
    scales: Annotated[
        list[float] | None,
        typer.Option(
            "--scale-factor",
            help="Of the TPC-H data that experiments with flows run on; give it once for each size.",
            show_default="0.005, 0.01 and 0.02",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Where TPC-H data is generated and kept.", show_default="~/.cache/freshtide/tpch"),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name the experiments.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce a figure of the papers that Freshtide implements."""
    if listed or name is None:
        _list(as_json=as_json)
        return
    if figure is not None:
        require_format(figure)
    with _experiment(name, scales, data, master) as (chosen, spread):
        if events is not None and not chosen.counts_events:
            raise UsageError(
                f"--events means nothing to {name}: how long it runs is part of the experiment.",
                way_out="Leave it out.",
            )
        conditions = Conditions(events=chosen.events if events is None else events, seed=seed, stretch=stretch)
        curves = _run(chosen, conditions, spread)
    if figure is not None:
        plot(curves, figure)
    if as_json:
        print_json(curves.as_json())
    else:
        _print(curves, figure)


@contextmanager
def _experiment(
    name: str, scales: list[float] | None, data: Path | None, master: str | None
) -> Iterator[tuple[Experiment[Any], Spread]]:
    """The experiment of this name, and where its points are measured."""
    if name in EXPERIMENTS:
        if scales or data is not None:
            raise UsageError(
                f"{'--scale-factor' if scales else '--data'} means nothing to {name}: it runs in virtual time.",
                way_out="Leave it out.",
            )
        with _spread(master) as spread:
            yield EXPERIMENTS[name], spread
        return
    from freshtide.spark.experiments import SCALES, flow_experiments, measured_in_turn, require_scale

    for scale in scales or ():
        require_scale(scale)
    with _flow_bench(data or _default_cache(), master) as bench:
        experiments = flow_experiments(bench, scales=scales or SCALES)
        if name not in experiments:
            raise UsageError(f"There is no experiment '{name}'.", way_out=choices(name, [*EXPERIMENTS, *experiments]))
        yield experiments[name], measured_in_turn(experiments[name])


@contextmanager
def _flow_bench(data: Path, master: str | None) -> Iterator[Callable[[], FlowBench]]:
    """What flows run on, started when it is asked for."""
    from freshtide.spark import start_session
    from freshtide.spark.experiments import FlowBench

    opened: list[FlowBench] = []

    def bench() -> FlowBench:
        if not opened:
            configuration = _cluster() if master is None else {"spark.master": master}
            opened.append(FlowBench(session=start_session(configuration, log=Path(os.devnull)), cache=data))
            opened[0].warm_up()
        return opened[0]

    try:
        yield bench
    finally:
        for each in opened:
            each.session.stop()


def _default_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "freshtide" / "tpch"


def _list(*, as_json: bool) -> None:
    from freshtide.spark.experiments import flow_experiments

    with _flow_bench(_default_cache(), None) as bench:
        known = [*EXPERIMENTS.values(), *flow_experiments(bench).values()]
    if as_json:
        print_json([{"name": each.name, "title": each.title} for each in known])
        return
    table = Table("experiment", "shows", box=None, pad_edge=False)
    for each in known:
        table.add_row(each.name, each.title)
    console.print(table)
    console.print("\nRun one: [bold]freshtide experiment golab-fig9 --events 100000 --plot fig9.svg[/bold]")


@contextmanager
def _spread(master: str | None) -> Iterator[Spread]:
    """Where the points are measured: on a cluster if there is one, else on the processors of this machine."""
    configuration = _cluster() if master is None else {"spark.master": master}
    if not configuration:
        yield over_processes
        return
    from freshtide.spark import spread_over_cluster, start_session

    session = start_session(configuration, log=Path(os.devnull))
    try:
        yield lambda measure, points: spread_over_cluster(session, measure, points)
    finally:
        session.stop()


def _cluster() -> Mapping[str, str]:
    """The Spark configuration of the project around, if it names a cluster; nothing otherwise."""
    here = Path.cwd()
    if not (here / PROJECT_FILE).is_file():
        return {}
    spark = read_settings(read_yaml(here / PROJECT_FILE, here), default_name=here.name).spark
    master = spark.get("spark.master", "local")
    # `local[2]` is this machine; `local-cluster[...]` is not.
    return {} if master == "local" or master.startswith("local[") else spark


def _run(chosen: Experiment[Any], conditions: Conditions, spread: Spread) -> Curves:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    length = f", points of {conditions.events:,} events" if chosen.counts_events else ""
    with Progress(*columns, console=errors, disable=not errors.is_terminal, transient=True) as progress:
        task = progress.add_task(f"{chosen.name}{length}", total=len(chosen.points))
        return run_experiment(chosen, conditions=conditions, spread=spread, on_point=lambda: progress.advance(task))


def _print(curves: Curves, figure: Path | None) -> None:
    chosen = curves.experiment
    console.print(f"[bold]{chosen.name}[/bold]  {chosen.title}")
    console.print(table_of(curves))
    length = f"{curves.events:,} events per point, " if chosen.counts_events else ""
    console.print(f"[dim]{chosen.y_label}; {length}seed {curves.seed}[/dim]")
    if figure is not None:
        console.print(f"Drawn into {figure}.")


def table_of(curves: Curves) -> Table:
    """All values, or of long curves what they range over."""
    return _summary(curves) if max(map(len, curves.series.values())) > _MOST_ROWS else _rows(curves)


def _rows(curves: Curves) -> Table:
    """A row for each place of the x axis; a curve that is not there has nothing in it."""
    table = Table(curves.experiment.x_label, *curves.series, box=None, pad_edge=False)
    values = [dict(points) for points in curves.series.values()]
    for x in sorted({x for curve in values for x in curve}):
        table.add_row(f"{x:g}", *(f"{curve[x]:.3f}" if x in curve else "" for curve in values))
    return table


def _summary(curves: Curves) -> Table:
    """A row for each curve: those of a whole run have a place for each of its moments."""
    table = Table("curve", "points", "min", "max", "last", box=None, pad_edge=False)
    for label, points in curves.series.items():
        ys = [y for _, y in points]
        table.add_row(label, f"{len(ys):,}", *(f"{y:.3f}" for y in (min(ys), max(ys), ys[-1])) if ys else ())
    return table
