"""Figures like the papers'."""

from __future__ import annotations

from pathlib import Path

from freshtide.core.errors import UsageError
from freshtide.simulation.experiments.experiment import Curves

FORMATS = (".svg", ".png", ".pdf")
_MARKERS = "os^Dvx"


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
    # Text stays text and identifiers stay the same, so that a figure drawn again differs only where its curves do.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": experiment.name}):
        figure = Figure(figsize=(5.4, 3.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for number, (label, points) in enumerate(curves.series.items()):
            xs, ys = zip(*points, strict=True)
            axes.plot(xs, ys, marker=_MARKERS[number % len(_MARKERS)], markersize=4, linewidth=1.3, label=label)
        axes.set_xlabel(experiment.x_label)
        axes.set_ylabel(experiment.y_label)
        axes.set_ylim(bottom=0.0)
        axes.set_title(experiment.title, fontsize=10)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=9)
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None, dpi=150)
