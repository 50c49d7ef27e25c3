"""Update streams in virtual time: tuples of many keys come in, one server works them off (Moga et al. 2009).

`serve` drives any queue of `freshtide.latest` and tells observers what happens. They integrate staleness and memory.
The queues themselves are not in here, and neither are the figures that are made with it: those are experiments.
"""

from freshtide.simulation.latest.memory import MemoryGauge
from freshtide.simulation.latest.serving import Arrival, Observer, each_tick, in_own_time, serve
from freshtide.simulation.latest.staleness import ResultStaleness, TupleStaleness

__all__ = [
    "Arrival",
    "MemoryGauge",
    "Observer",
    "ResultStaleness",
    "TupleStaleness",
    "each_tick",
    "in_own_time",
    "serve",
]
