"""Orderings: which of the releasable updates is best (Golab et al. 2011, section 3.1).

An ordering gives each candidate a rank that depends on the candidate alone, not on the moment: ranks then
stay valid while time passes, and the scheduler can keep candidates in a heap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An update that could start now."""

    table: str
    priority: float
    released_at: float
    delta: float
    """Freshness gained, in seconds."""
    cost: float
    """Expected execution time, in seconds."""
    upto: float

    @property
    def benefit(self) -> float:
        """Marginal benefit: priority-weighted freshness gained per second of work."""
        return self.priority * self.delta / self.cost


class Ordering(Protocol):
    """Ranks candidates; the smallest rank goes first, ties go to the table whose name comes first."""

    name: str

    def rank(self, candidate: Candidate) -> float: ...

    def because(self, candidate: Candidate) -> str:
        """In words for the user: what puts the candidate where it is."""
        ...


class Fifo:
    """Prefers the update that has been waiting longest."""

    name = "fifo"

    def rank(self, candidate: Candidate) -> float:
        return candidate.released_at

    def because(self, candidate: Candidate) -> str:  # noqa: ARG002 - the same words for all
        return "it has been waiting longest"


class MaxBenefit:
    """Prefers the update that lowers priority-weighted staleness most per second of work (section 3.1)."""

    name = "max-benefit"

    def rank(self, candidate: Candidate) -> float:
        return -candidate.benefit

    def because(self, candidate: Candidate) -> str:
        return (
            f"it gains {candidate.benefit:.3g} seconds of weighted freshness per second of work "
            f"(priority {candidate.priority:g} x {candidate.delta:.1f}s / {candidate.cost:.2f}s)"
        )


ORDERINGS: Mapping[str, type[Fifo] | type[MaxBenefit]] = {policy.name: policy for policy in (Fifo, MaxBenefit)}
