from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from freshtide.simulation.experiments import upstream_windows
from freshtide.simulation.experiments.experiment import Conditions, Experiment, Series
from freshtide.simulation.latest import keys

KEYS = 10


def _zipf(theta: float) -> Callable[[int], Iterable[int]]:
    return lambda seed: keys.drawn(keys.zipf(KEYS, theta), random.Random(f"{seed}/keys"))


ARRIVALS: dict[str, Callable[[int], Iterable[int]]] = {
    "Zipf, theta 0": _zipf(0.0),
    "Zipf, theta 0.5": _zipf(0.5),
    "Zipf, theta 0.9": _zipf(0.9),
    "Uniform order": lambda _seed: keys.round_robin(KEYS),
}
"""Made from a seed."""


def _measure(size: float, conditions: Conditions) -> Series:
    def ratio(arrivals: Callable[[int], Iterable[int]]) -> float:
        lazy, eager = (
            upstream_windows.staleness(
                semantics, arrivals(conditions.seed), size=size, slide=1.0, conditions=conditions
            )
            for semantics in upstream_windows.UPDATE
        )
        return eager / lazy

    return {label: [(size, ratio(arrivals))] for label, arrivals in ARRIVALS.items()}


FIGURE = Experiment(
    name="upstream-fig14",
    title="EAGER against LAZY, ten keys, windows that slide by 1",
    x_label=upstream_windows.X_LABEL,
    y_label="Application staleness, EAGER / LAZY",
    labels=tuple(ARRIVALS),
    points=upstream_windows.SIZES,
    measure=_measure,
    events=upstream_windows.EVENTS,
)
"""Below 1 where EAGER is better (Moga et al. 2009, section 6.3.2)."""
