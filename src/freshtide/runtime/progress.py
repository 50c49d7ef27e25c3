"""How far an update has come, from step to step."""

from __future__ import annotations

from dataclasses import dataclass

from freshtide.core.choosing import Learnt
from freshtide.core.commands import StartUpdate
from freshtide.runtime.rebuilds import RebuildPart
from freshtide.runtime.viewrebuilds import ViewPart
from freshtide.runtime.ways import ChosenWay


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far an update has come."""

    command: StartUpdate
    aim: float
    """Seconds that it should take at most, where it can be cut."""
    until: float
    """By then nothing more is taken in: what waits is to be served."""
    there: frozenset[int] | None = None
    """Files that were there when a latest table began to take in: those that land meanwhile are for the next update."""
    is_cut: bool = False
    """Whether there was more to take in than one update takes."""
    in_parts: bool = False
    """Whether a rebuild may go in parts, one update each."""
    part: RebuildPart | ViewPart | None = None
    """The part of a rebuild that comes next; None: it is done at once, or there is none."""
    way: ChosenWay | None = None
    """Of a view that is computed in full or from changes: which, and why."""
    learnt: Learnt | None = None
    """What was learnt by it."""
    weight: float = 0.0
    """Of a view that is computed in parts: the bytes of its sources that the next step goes through."""
