"""experiment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from freshtide.cli.output import JsonOption, console, errors, print_json
from freshtide.core.errors import UsageError, choices
from freshtide.project import PROJECT_FILE, read_settings, read_yaml
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
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="The figures to reproduce; --list names them all.", show_default=False
        ),
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(
            min=1, help="Arrivals and completions that each point is the result of.", show_default="the experiment's"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.")] = 1,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Draw the curves into this SVG, PNG or PDF file; of several figures, into this folder."
        ),
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
    """Reproduce figures of the papers that Freshtide implements."""
    if listed or not names:
        _list(as_json=as_json)
        return
    pictures = _pictures(names, figure)
    told = []
    with _Laboratory(scales, data, master) as laboratory:
        for chosen, spread in laboratory.experiments(names):
            if events is not None and not chosen.counts_events:
                raise UsageError(
                    f"--events means nothing to {chosen.name}: how long it runs is part of the experiment.",
                    way_out="Leave it out.",
                )
            conditions = Conditions(events=chosen.events if events is None else events, seed=seed, stretch=stretch)
            curves = _run(chosen, conditions, spread)
            picture = pictures.get(chosen.name)
            if picture is not None:
                plot(curves, picture)
            if as_json:
                told.append(curves.as_json())
            else:
                _print(curves, picture)
    if as_json:
        print_json(told if len(names) > 1 else told[0])


def _pictures(names: list[str], figure: Path | None) -> dict[str, Path]:
    """Where each figure is drawn."""
    if figure is None:
        return {}
    if len(names) == 1:
        require_format(figure)
        return {names[0]: figure}
    if figure.suffix or (figure.exists() and not figure.is_dir()):
        raise UsageError(
            f"{len(names)} figures cannot all be drawn into {figure}.", way_out="Name a folder with --plot."
        )
    figure.mkdir(parents=True, exist_ok=True)
    return {name: figure / f"{name}.svg" for name in names}


class _Laboratory(ExitStack):
    """Where experiments are made. What they need is opened when the first one needs it, and shared by the others."""

    def __init__(self, scales: list[float] | None, data: Path | None, master: str | None) -> None:
        super().__init__()
        self._scales = scales
        self._data = data
        self._master = master

    def experiments(self, names: Sequence[str]) -> Iterator[tuple[Experiment[Any], Spread]]:
        """The experiments of these names, each with where its points are measured."""
        virtual = any(name in EXPERIMENTS for name in names)
        flows = {} if all(name in EXPERIMENTS for name in names) else self._flow_experiments()
        for name in names:
            if name not in EXPERIMENTS and name not in flows:
                raise UsageError(f"There is no experiment '{name}'.", way_out=choices(name, [*EXPERIMENTS, *flows]))
            if name in EXPERIMENTS and (self._scales or self._data is not None):
                raise UsageError(
                    f"{'--scale-factor' if self._scales else '--data'} means nothing to {name}: "
                    "it runs in virtual time.",
                    way_out="Leave it out.",
                )
        spread = self.enter_context(_spread(self._master)) if virtual else None
        for name in names:
            if name in flows:
                yield flows[name]
            else:
                assert spread is not None, "it is opened for experiments in virtual time"
                yield EXPERIMENTS[name], spread

    def _flow_experiments(self) -> dict[str, tuple[Experiment[Any], Spread]]:
        from freshtide.spark.experiments import SCALES, flow_experiments, measured_in_turn, require_scale

        for scale in self._scales or ():
            require_scale(scale)
        bench = self.enter_context(_flow_bench(self._data or _default_cache(), self._master))
        found = flow_experiments(bench, scales=self._scales or SCALES)
        return {name: (each, measured_in_turn(each)) for name, each in found.items()}


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
    console.print(f"[dim]{chosen.axes.y}; {length}seed {curves.seed}[/dim]")
    if figure is not None:
        console.print(f"Drawn into {escape(str(figure))}.")


def table_of(curves: Curves) -> Table:
    """All values, or of long curves what they range over."""
    return _summary(curves) if max(map(len, curves.series.values())) > _MOST_ROWS else _rows(curves)


def _rows(curves: Curves) -> Table:
    """A row for each place of the x axis; a curve that is not there has nothing in it."""
    table = Table(curves.experiment.axes.x, *curves.series, box=None, pad_edge=False)
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
