"""What is predicted of the real runtime in simulated worlds that no machine disturbs, against what it then does."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, median

from faults.tables import BASES, FEEDS, VIEWS, project
from faults.world import World

from bench.comparing import Compared, compared, median_error, ranking
from bench.results import Report
from freshtide.planning import warehouse_model

LOADS = (0.5, 0.9, 1.2)
"""What the tracks would be busy if each file were loaded, and each view updated, by itself."""
_EVERY = 5.0
"""A file about every five seconds for each of the feeds, one after the other by chance."""
_PARTS = 3
"""Of an update, each of which takes its time."""
_CALL, _KEPT = 0.001, 300.0
"""Seconds that a call of the disk takes, and after which landed files are removed. A folder that all stay in is looked
through again and again, and feeds are looked at the more seldom the longer that takes: files would be found later and
later, as on a real disk with many thousands of them."""

Comparison = Mapping[float, list[Compared]]
"""By the length of a course."""


def run(folder: Path, *, quick: bool) -> Report:  # noqa: ARG001 - nothing is kept on disk
    report = Report(name="predicted-worlds")
    seeds, courses = (range(2), (500.0,)) if quick else (range(8), (500.0, 1_200.0, 3_000.0))
    cases = list(product(LOADS, (False, True), seeds, [courses]))
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        found = dict(zip([case[:3] for case in cases], pool.starmap(observed, cases, chunksize=1), strict=True))
    for length in courses:
        rows = []
        for load, straying in product(LOADS, (False, True)):
            worlds = [found[load, straying, seed][length] for seed in seeds]
            every = [each for world in worlds for each in world]
            error, ranked = median_error(every), fmean(ranking(world) for world in worlds)
            rows.append(
                (
                    f"load {load:g}{', time stamps stray' if straying else ''}",
                    error,
                    median(each.deviation for each in every),
                    median(each.error_knowing for each in every),
                    ranked,
                )
            )
            name = f"{length:g}_{load:g}_{'straying' if straying else 'in_order'}"
            report.figures |= {f"error_{name}": error, f"ranking_{name}": ranked}
        report.table(
            f"{length:,.0f} s after {length:,.0f} s, {len(seeds)} worlds (goals: error at most 0.1, ranking 1)",
            ("", "median error", "median deviation", "error if costs were known", "pairs in the right order"),
            rows,
        )
    return report


def observed(load: float, straying: bool, seed: int, courses: Sequence[float]) -> Comparison:
    """One world, in which predictions are made at some moments, each for as long as had passed then."""
    world = World(seed, call=_CALL)
    world.temper.slowness = load * project().settings.tracks * _EVERY / (len([*BASES, *VIEWS]) * _PARTS)
    if not straying:
        world.producer.straying = 0.0
    life, begun = world.begin_life(), world.turns.steady
    landing = _Landing(world)
    models = {}
    found: dict[float, list[Compared]] = {}
    for moment in sorted({*courses, *(2.0 * length for length in courses)}):
        landing.go_on_to(begun + moment)
        now = world.turns.now
        for length in courses:
            if moment == length:
                models[length] = now, warehouse_model(project(), life.catalog, now=now)
            if moment == 2.0 * length:
                since, model = models[length]
                found[length] = compared(model, life.catalog, project().settings, since=since, until=now)
    world.end()
    return found


class _Landing:
    """Lands files at their moments, whatever else takes time, and removes them long after they have been loaded."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._disk = world.disk.another_process()
        self._due = world.turns.steady
        self._kept: deque[tuple[float, str]] = deque()

    def go_on_to(self, moment: float) -> None:
        world, producer = self._world, self._world.producer
        while self._due < moment:
            world.go_on(max(0.0, self._due - world.turns.steady))
            producer.land(self._disk, world.rng.choice(tuple(FEEDS)))
            self._kept.append((self._due + _KEPT, producer.files[-1].path))
            while self._kept[0][0] <= self._due:
                self._disk.remove(self._kept.popleft()[1])
            self._due += _EVERY / len(FEEDS)
        world.go_on(max(0.0, moment - world.turns.steady))
