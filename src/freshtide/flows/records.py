"""What happened in a run of a flow: which activity ran when, on how much, and what the queues held."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """An activity was chosen, and ran until its input was exhausted, a consumer was full or its slot was over."""

    node: str
    start: float
    end: float
    packs: int
    rows_in: int
    rows_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySample:
    """What waited in the queues at a moment."""

    time: float
    packs: int
    rows: int
    size: int
    by_edge: Mapping[str, int] = field(default_factory=dict)
    """Bytes by edge, of those that held any."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Rows through an activity."""

    rows_in: int = 0
    rows_out: dict[str, int] = field(default_factory=dict)
    """By output."""
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class FlowRecord:
    """The whole run."""

    activations: list[Activation] = field(default_factory=list)
    memory: list[MemorySample] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    spilled_packs: int = 0
    grown_queues: dict[str, int] = field(default_factory=dict)
    """Edges whose queue had to grow, lest nothing could run any more, with the packs it had room for in the end."""

    @property
    def maximum_size(self) -> int:
        return max((sample.size for sample in self.memory), default=0)

    @property
    def maximum_packs(self) -> int:
        return max((sample.packs for sample in self.memory), default=0)

    def average(self, what: str) -> float:
        """Of `packs`, `rows` or `size` over time: each sample counts until the next."""
        samples = self.memory
        if len(samples) < 2 or samples[-1].time <= samples[0].time:
            return float(getattr(samples[0], what)) if samples else 0.0
        area = sum(getattr(sample, what) * (after.time - sample.time) for sample, after in itertools.pairwise(samples))
        return float(area / (samples[-1].time - samples[0].time))
