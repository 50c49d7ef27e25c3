from __future__ import annotations

from freshtide.simulation.experiments import leontyev

FIGURE = leontyev.figure(
    "leontyev-fig9a-worst",
    "Tables whose feeds were cut, worst-case",
    shown=leontyev.CUT,
    costs="worst",
)
