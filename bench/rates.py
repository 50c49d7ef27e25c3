"""python -m bench.rates EVENTS: events per second of the simulator and of SimPy, by load, as JSON.

In a process of its own, so that the simulator can be measured compiled and as it is written.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.simpy_model import SimpyWarehouse
from bench.workloads import PERIOD, alike
from freshtide.scheduling import Policy
from freshtide.simulation import Simulation

_ROOT = Path(__file__).parents[1]
_WRITTEN, _COMPILED = _ROOT / "src", _ROOT / "build" / "compiled"
_LOADS = (0.6, 0.8, 1.0)
_TABLES, _TRACKS = 30, 4

Rates = dict[str, tuple[float, float]]
"""By load: events per second of the simulator, and of SimPy beside it."""


def rates(events: int, *, compiled: bool) -> Rates:
    """What `measure` finds in a new process, with what a wheel has compiled or with the working tree."""
    if compiled:
        subprocess.run(["make", "--silent", "--no-print-directory", "compiled"], cwd=_ROOT, check=True)
    package = _COMPILED if compiled else _WRITTEN
    command = [sys.executable, "-m", "bench.rates", str(events)]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    told = subprocess.run(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, check=True).stdout
    found: Rates = {load: (own, peer) for load, (own, peer) in json.loads(told).items()}
    return found


def measure(events: int) -> Rates:
    """Both on one processor, in turns, each at its best of three: what disturbs one disturbs the other."""
    found: Rates = {}
    for load in _LOADS:
        workload = alike(_TABLES, load=load, tracks=_TRACKS)
        horizon = events / 2 / _TABLES * PERIOD
        own = peer = 0.0
        for _ in range(3):
            begun = time.process_time()
            result = Simulation(workload, Policy(), tracks=_TRACKS).run(horizon=horizon)
            own = max(own, result.events / (time.process_time() - begun))
            model = SimpyWarehouse(workload, tracks=_TRACKS, chopping=3.0)
            begun = time.process_time()
            staleness = model.run(horizon)
            peer = max(peer, model.events / (time.process_time() - begun))
        difference = abs(staleness / result.weighted_staleness - 1.0)
        if difference > 1e-9:
            raise AssertionError(f"at load {load} the two come to different staleness: off by {difference:.2g}")
        found[f"{load:g}"] = (own, peer)
    return found


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
