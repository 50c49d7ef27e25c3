from __future__ import annotations

from functools import partial

from freshtide.core.latest import KeyOrder
from freshtide.latest.orders import Linecutting
from freshtide.simulation.experiments import upstream
from freshtide.simulation.experiments.experiment import Conditions, Experiment, Panel, Series
from freshtide.simulation.latest import keys

LOAD = 5.0
TIMES = (10, 50, 100)
"""How many times as often as slow keys the fast ones update."""
RULES: dict[str, upstream.ChosenOrder] = {
    "LINECUTTING": KeyOrder.LINECUTTING,
    "As printed": partial(Linecutting, as_printed=True),
}


def _label(rule: str, times: int) -> str:
    return f"{rule}, rates {times} : 1"


def _measure(slow: int, conditions: Conditions) -> Series:
    def mean_wait(order: upstream.ChosenOrder, times: int) -> float:
        weights = keys.two_classes(fast=upstream.KEYS - slow, slow=slow, ratio=times)
        return upstream.staleness(upstream.update_queue(order), weights, load=LOAD, conditions=conditions).queue

    found: dict[str, list[tuple[float, float]]] = {}
    for times in TIMES:
        in_place = mean_wait(KeyOrder.IN_PLACE, times)
        for rule, order in RULES.items():
            found[_label(rule, times)] = [(float(slow), in_place / mean_wait(order, times))]
    return found


_LABELS = {rule: tuple(_label(rule, times) for times in TIMES) for rule in RULES}

FIGURE = Experiment(
    name="upstream-fig9",
    title="IN-PLACE against LINECUTTING, load factor 5",
    x_label="Slow updaters among ten keys",
    y_label="IN-PLACE / LINECUTTING",
    labels=tuple(label for labels in _LABELS.values() for label in labels),
    points=tuple(range(upstream.KEYS + 1)),
    measure=_measure,
    events=upstream.EVENTS,
    panels=tuple(Panel(title=rule, labels=labels) for rule, labels in _LABELS.items()),
)
"""Queue staleness, above 1 where LINECUTTING is better (Moga et al. 2009, section 5.3).

The paper says "very slow and fast", gives 10 times as an example, and leaves open what the figure was drawn with.
"""
