from __future__ import annotations

from freshtide.core.updatestreams import KeyOrder
from freshtide.simulation.experiments import upstream
from freshtide.simulation.experiments.experiment import Conditions, Experiment, Series
from freshtide.simulation.updatestreams import keys

LOAD = 5.0
RATIOS = {"Fast keys 10 times as fast": 10.0, "50 times as fast": 50.0, "100 times as fast": 100.0}


def _measure(slow: int, conditions: Conditions) -> Series:
    def ratio(times: float) -> float:
        weights = keys.two_classes(fast=upstream.KEYS - slow, slow=slow, ratio=times)
        in_place, linecutting = (
            upstream.staleness(upstream.update_queue(order), weights, load=LOAD, conditions=conditions).queue
            for order in (KeyOrder.IN_PLACE, KeyOrder.LINECUTTING)
        )
        return in_place / linecutting

    return {label: [(float(slow), ratio(times))] for label, times in RATIOS.items()}


FIGURE = Experiment(
    name="upstream-fig9",
    title="IN-PLACE against LINECUTTING, load factor 5",
    x_label="Slow updaters among ten keys",
    y_label="Queue staleness, IN-PLACE / LINECUTTING",
    labels=tuple(RATIOS),
    points=tuple(range(upstream.KEYS + 1)),
    measure=_measure,
    events=upstream.EVENTS,
)
"""Above 1 where LINECUTTING is better (Moga et al. 2009, section 5.3).

The paper says "very slow and fast", gives 10 times as an example, and leaves open what the figure was drawn with.
"""
