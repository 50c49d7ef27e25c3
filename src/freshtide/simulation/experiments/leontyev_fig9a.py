from __future__ import annotations

from freshtide.simulation.experiments import leontyev

FIGURE = leontyev.figure(
    "leontyev-fig9a",
    "Tables whose feeds were cut, average-case",
    shown=leontyev.CUT,
    costs="average",
)
