"""The figures of Moga et al. 2009: queues of tuples, queues of windows, and the memory of both.

A module for each section of the paper with figures, and nothing else: how tuples are served in virtual time is
`freshtide.simulation.latest`. On the command line the figures go by the name of the paper's system, UpStream.
"""

from typing import Any

from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.moga import memory, queues, windows

FIGURES: tuple[Experiment[Any], ...] = (*queues.FIGURES, *windows.FIGURES, *memory.FIGURES)

__all__ = ["FIGURES"]
