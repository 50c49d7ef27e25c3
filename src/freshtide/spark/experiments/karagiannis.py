"""The figures of Karagiannis et al. 2013, sections 4 and 7 and appendix A."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Any

from freshtide.flows.archetypes import ARCHETYPES, COMBINATIONS, SELECTIVE
from freshtide.simulation.experiments import Axes, Conditions, Experiment, Panel, Series
from freshtide.spark.experiments.measuring import FlowBench, FlowRun

SCALES = (0.005, 0.01, 0.02)
"""Of the data, where nobody says otherwise: the paper goes up to 1."""
POLICIES = {"RR": "round-robin", "MC": "minimum-cost", "MM": "minimum-memory"}
ALL_POLICIES = {**POLICIES, "MP": "mixed"}
_SELECTIVITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
_PAPER = "Karagiannis et al. 2013"
_SCALE_FACTOR = "Scale factor"
_SECONDS, _AVERAGE, _MAXIMUM = "Execution time (s)", "Average memory (row packs)", "Maximum memory (row packs)"
_MEASURES: Mapping[str, Callable[[FlowRun], float]] = {
    _SECONDS: lambda run: run.seconds,
    _AVERAGE: lambda run: run.average_packs,
    _MAXIMUM: lambda run: float(run.maximum_packs),
}
OpenBench = Callable[[], FlowBench]
"""What flows are run on; asked for when the first one is to run."""


class Runs:
    """Runs of flows, each made once: several figures show the same ones."""

    def __init__(self, bench: OpenBench) -> None:
        self._bench = bench
        self._made: dict[tuple[str, str, float, float], FlowRun] = {}

    def of(self, flow: str, *, policy: str, scale: float, selectivity: float = 1.0) -> FlowRun:
        conditions = (flow, policy, scale, selectivity)
        if conditions not in self._made:
            self._made[conditions] = self._bench().run(flow, policy=policy, scale=scale, selectivity=selectivity)
        return self._made[conditions]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPoint:
    """One run, or one for each of several flows."""

    flows: tuple[str, ...]
    policy: str
    scale: float
    selectivity: float = 1.0


def flow_experiments(bench: OpenBench, *, scales: Sequence[float] = SCALES) -> dict[str, Experiment[Any]]:
    """All of them by name."""
    runs = Runs(bench)
    archetypes = partial(
        _by_flow,
        caption="Each archetype for itself, under each of the three policies.",
        flows=ARCHETYPES,
        policies=POLICIES,
        runs=runs,
        scales=scales,
    )
    figures: list[Experiment[Any]] = [
        _mean_of_all("4", "Mean time of the archetypes", measure=_SECONDS, runs=runs, scales=scales),
        _mean_of_all("5", "Mean memory of the archetypes", measure=_AVERAGE, runs=runs, scales=scales),
        archetypes("8", "Time of the archetypes", measure=_SECONDS),
        archetypes("9", "Average memory of the archetypes", measure=_AVERAGE),
        archetypes("10", "Maximum memory of the archetypes", measure=_MAXIMUM),
        _by_selectivity(runs, max(scales)),
        _by_flow(
            "12",
            "The Mixed Policy on combinations of archetypes",
            caption="Three workflows under all four policies, with packs as large as they are unless somebody says.",
            measure=_SECONDS,
            flows=COMBINATIONS,
            policies=ALL_POLICIES,
            runs=Runs(lambda: bench().with_large_packs()),
            scales=scales,
        ),
        _one_run_each(runs, max(scales)),
    ]
    return {figure.name: figure for figure in figures}


def _mean_of_all(
    number: str, title: str, *, measure: str, runs: Runs, scales: Sequence[float]
) -> Experiment[FlowPoint]:
    """Figures 4 and 5: over all archetypes."""

    def measured(point: FlowPoint, _: Conditions) -> Series:
        made = [runs.of(flow, policy=POLICIES[point.policy], scale=point.scale) for flow in point.flows]
        return {point.policy: [(point.scale, mean(map(_MEASURES[measure], made)))]}

    return Experiment(
        name=f"karagiannis-fig{number}",
        title=title,
        paper=f"{_PAPER}, section 4",
        caption="The mean over all archetypes, under each of the three policies.",
        axes=Axes(x=_SCALE_FACTOR, y=measure),
        labels=tuple(POLICIES),
        points=tuple(
            FlowPoint(flows=tuple(ARCHETYPES), policy=policy, scale=scale) for scale in scales for policy in POLICIES
        ),
        measure=measured,
        events=math.inf,
    )


def _by_flow(
    number: str,
    title: str,
    *,
    caption: str,
    measure: str,
    flows: Iterable[str],
    policies: Mapping[str, str],
    runs: Runs,
    scales: Sequence[float],
) -> Experiment[FlowPoint]:
    """Figures 8 to 10 and 12: a graph for each flow."""

    def measured(point: FlowPoint, _: Conditions) -> Series:
        (flow,) = point.flows
        run = runs.of(flow, policy=policies[point.policy], scale=point.scale)
        return {_label(flow, point.policy): [(point.scale, _MEASURES[measure](run))]}

    labels = {flow: tuple(_label(flow, policy) for policy in policies) for flow in flows}
    return Experiment(
        name=f"karagiannis-fig{number}",
        title=title,
        paper=f"{_PAPER}, section 7",
        caption=caption,
        axes=Axes(x=_SCALE_FACTOR, y=measure),
        labels=tuple(label for several in labels.values() for label in several),
        points=tuple(
            FlowPoint(flows=(flow,), policy=policy, scale=scale)
            for flow in labels
            for scale in scales
            for policy in policies
        ),
        measure=measured,
        events=math.inf,
        panels=tuple(Panel(title=_titled(flow), labels=several) for flow, several in labels.items()),
    )


def _by_selectivity(runs: Runs, scale: float) -> Experiment[FlowPoint]:
    """Figure 11: all three measures of one run, for two flows."""
    short = {_SECONDS: "time", _AVERAGE: "average", _MAXIMUM: "maximum"}

    def measured(point: FlowPoint, _: Conditions) -> Series:
        (flow,) = point.flows
        run = runs.of(flow, policy=POLICIES[point.policy], scale=point.scale, selectivity=point.selectivity)
        return {
            _label(flow, point.policy, short[measure]): [(point.selectivity, value(run))]
            for measure, value in _MEASURES.items()
        }

    panels = tuple(
        Panel(
            title=f"{_titled(flow)}: {short[measure]}",
            labels=tuple(_label(flow, policy, short[measure]) for policy in POLICIES),
            y_label=measure.replace(" (", "\n("),
        )
        for flow in SELECTIVE
        for measure in _MEASURES
    )
    return Experiment(
        name="karagiannis-fig11",
        title=f"Selectivity, scale factor {scale:g}",
        paper=f"{_PAPER}, section 7",
        caption="Of butterfly and primary flow, a share of whose keys is taken out first.",
        axes=Axes(x="Selectivity", y=_SECONDS),
        labels=tuple(label for panel in panels for label in panel.labels),
        points=tuple(
            FlowPoint(flows=(flow,), policy=policy, scale=scale, selectivity=selectivity)
            for flow in SELECTIVE
            for selectivity in _SELECTIVITIES
            for policy in POLICIES
        ),
        measure=measured,
        events=math.inf,
        panels=panels,
    )


def _one_run_each(runs: Runs, scale: float) -> Experiment[str]:
    """Figure A1: what waits in the queues of the butterfly, and which activity is activated when."""
    memory, activations = partial(_label, "memory"), partial(_label, "activations")

    def measured(policy: str, _: Conditions) -> Series:
        run = runs.of("butterfly", policy=POLICIES[policy], scale=scale)
        start = run.record.memory[0].time
        places = {name: float(place) for place, name in enumerate(run.graph.nodes)}
        return {
            memory(policy): [(sample.time - start, float(sample.packs)) for sample in run.record.memory],
            activations(policy): [(each.start - start, places[each.node]) for each in run.record.activations],
        }

    panels = (
        *(Panel(title=f"{policy}: memory", labels=(memory(policy),), y_label="Row packs") for policy in POLICIES),
        *(
            Panel(title=f"{policy}: activations", labels=(activations(policy),), y_label="Activity")
            for policy in POLICIES
        ),
    )
    return Experiment(
        name="karagiannis-figA1",
        title=f"One run of the butterfly, scale factor {scale:g}",
        paper=f"{_PAPER}, appendix A",
        caption="What waits in the queues, and which activity is activated when.",
        axes=Axes(x="Time (s)", y="Row packs"),
        labels=tuple(label for panel in panels for label in panel.labels),
        points=tuple(POLICIES),
        measure=measured,
        events=math.inf,
        scattered=tuple(map(activations, POLICIES)),
        panels=panels,
    )


def _label(what: str, policy: str, measure: str = "") -> str:
    return " ".join(part for part in (_titled(what), policy, measure) if part)


def _titled(flow: str) -> str:
    return flow.replace("_", " ")
