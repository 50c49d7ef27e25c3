from __future__ import annotations

from freshtide.simulation.experiments import leontyev

FIGURE = leontyev.figure(
    "leontyev-fig9b-worst",
    "Healthy tables while others recover, worst-case",
    shown=leontyev.HEALTHY,
    costs="worst",
)
