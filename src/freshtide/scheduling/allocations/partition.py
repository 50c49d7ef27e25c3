"""Which tracks the updates of which tables may use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a table asks of the machine when it is updated once in a period."""

    table: str
    period: float
    execution: float
    """E(P), the time to load what one period brings."""

    @property
    def utilisation(self) -> float:
        return self.execution / self.period


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Tables that are treated alike, and where their updates may run, by preference. Sets of tracks are bit masks."""

    label: str
    own: int
    """Home tracks, preferred."""
    shared: int = 0
    """The home track that another lane uses too."""
    free: int = 0
    """Tracks that are nobody's home."""
    promotable: int = 0
    """Home tracks of others on which the lane's updates do no harm."""

    @property
    def home(self) -> int:
        return self.own | self.shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Tables to lanes, lanes to tracks."""

    lanes: tuple[Lane, ...]
    lane_of: Mapping[str, int]
    aggressive: bool = True
    """Whether an update is promoted to a track even if another update waits for it."""
    shortage: Shortage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why the tracks do not suffice, and how many would; None if no number would."""

    reason: str
    tracks_needed: int | None


class Allocation(Protocol):
    """Divides the tracks among the tables."""

    @property
    def name(self) -> str: ...

    @property
    def weighs_costs(self) -> bool:
        """Whether it depends on what updates take, which has to be learnt, and not on periods alone."""
        ...

    def partition(self, loads: Sequence[Load], tracks: int) -> Partition: ...


def mask(tracks: Iterable[int]) -> int:
    """A set of tracks."""
    return sum(1 << track for track in tracks)


def lowest(bits: int) -> int:
    """The lowest track of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def tracks_of(bits: int) -> list[int]:
    """The tracks in a set, ascending."""
    return [track for track in range(bits.bit_length()) if bits >> track & 1]
