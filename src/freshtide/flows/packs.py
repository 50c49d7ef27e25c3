"""What moves between activities, and who works on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from freshtide.flows.graph import Node


class Pack(Protocol):
    """A block of rows, held by whatever carries the flow out (Karagiannis et al. 2013, section 6: a row pack)."""

    @property
    def rows(self) -> int: ...

    @property
    def size(self) -> int:
        """Bytes of memory; 0 once it is on disk."""
        ...

    def spill(self) -> None:
        """Move it from memory to disk."""
        ...

    def release(self) -> None:
        """Nobody needs it any more."""
        ...


class Supply(Protocol):
    """Rows on disk, taken pack by pack: a source, or the result of an activity that waited for all its input."""

    @property
    def rows(self) -> int:
        """That have not been taken."""
        ...

    def take(self) -> Pack | None:
        """The next pack, brought into memory; None at the end."""
        ...


Outputs = Mapping[str, Sequence[Pack]]
"""Packs by the output they came from."""


class Worker(Protocol):
    """Carries activities out, on one pack after another."""

    def supply(self, node: Node) -> Supply:
        """What a source holds, or what an activity gives after the end of all its input.

        An activity without outputs does its work here, and there is nothing to take.
        """
        ...

    def keep(self, node: Node, number: int, pack: Pack) -> None:
        """Put the rows of a pack aside that belongs to an input that must be complete.

        The pack is released afterwards, or still waits for another activity: the worker holds on to rows of its own.
        """
        ...

    def process(self, node: Node, number: int, pack: Pack) -> Outputs:
        """Put a pack of one input through an activity; what comes out are other packs, without limit of number."""
        ...
