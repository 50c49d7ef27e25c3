from __future__ import annotations

from freshtide.simulation.experiments import leontyev

FIGURE = leontyev.figure(
    "leontyev-fig9b",
    "Healthy tables while others recover, average-case",
    shown=leontyev.HEALTHY,
    costs="average",
)
