"""Figures like the papers'."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from freshtide.core.errors import UsageError
from freshtide.simulation.experiments.experiment import Curves, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png", ".pdf")
_MARKERS = "os^Dvx"
# Beyond that the marks run together.
_MOST_MARKED = 40


def require_format(path: Path) -> None:
    """Refuse before the work is done what could not be written after it."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(
            f"{path} is no figure that can be written: '{path.suffix}' is not known.",
            way_out=f"Name a file that ends in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.",
        )
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}.", way_out=f"Create it: mkdir -p {path.parent}")


def plot(curves: Curves, path: Path) -> None:
    """Write the curves as a figure with axes and a legend."""
    # It takes half a second to load, and no other command needs it.
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    experiment = curves.experiment
    graphs = experiment.graphs
    # Text stays text and identifiers stay the same, so that a figure drawn again differs only where its curves do.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": experiment.name}):
        figure = Figure(figsize=(5.4, 3.6 if len(graphs) == 1 else 1.2 + 2.0 * len(graphs)), layout="constrained")
        FigureCanvasAgg(figure)
        column = figure.subplots(len(graphs), sharex=True, squeeze=False)[:, 0]
        for axes, graph in zip(column, graphs, strict=True):
            _draw(axes, graph, curves)
        column[-1].set_xlabel(experiment.axes.x)
        if experiment.panels:
            figure.suptitle(experiment.title, fontsize=11)
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None, dpi=150)


def _draw(axes: Axes, graph: Panel, curves: Curves) -> None:
    experiment = curves.experiment
    for number, label in enumerate(graph.labels):
        points = curves.series[label]
        if not points:
            continue
        xs, ys = zip(*points, strict=True)
        if label in experiment.references:
            axes.plot(xs, ys, linestyle="--", color="0.35", linewidth=1.3, label=label)
        elif label in experiment.scattered:
            axes.plot(xs, ys, linestyle="none", marker=".", markersize=3, label=label)
        else:
            marker = _MARKERS[number % len(_MARKERS)] if len(points) <= _MOST_MARKED else None
            axes.plot(xs, ys, marker=marker, markersize=4, linewidth=1.3, label=label)
    axes.set_ylabel(graph.y_label or experiment.axes.y)
    if experiment.axes.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0, top=experiment.axes.top)
    axes.set_title(graph.title, fontsize=10)
    axes.grid(alpha=0.25)
    if experiment.panels:
        # Curves over time fill their graph.
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    else:
        axes.legend(frameon=False, fontsize=9)
