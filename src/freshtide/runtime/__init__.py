"""The live loop: real files, real Spark, the system clock.

An engine feeds what happens to the scheduler and carries out what it decides. Arrivals are noticed by one thread,
updates run on one thread per track, and the engine's own thread does nothing but decide.

What to update is decided in `scheduling`, rows are computed in `spark` and committed by `storage`: here these are put
together, with threads and clocks.
"""

from freshtide.runtime.composition import Workbench, loading_flows
from freshtide.runtime.engine import Engine, EngineReport
from freshtide.runtime.logs import logging_to
from freshtide.runtime.outages import OutageListener
from freshtide.runtime.parts import open_store

__all__ = [
    "Engine",
    "EngineReport",
    "OutageListener",
    "Workbench",
    "loading_flows",
    "logging_to",
    "open_store",
]
