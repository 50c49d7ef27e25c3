"""What goes wrong in a scenario: updates that fail, and a warehouse that stops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pydantic import Field

from freshtide.core.errors import Problem
from freshtide.project.notation.validation import Place, PositiveDuration, Written
from freshtide.project.notation.yamlfile import KeyPath
from freshtide.project.scenarios.moments import Span
from freshtide.simulation import Failures, SimulatedTable

_STOPS: KeyPath = ("stops",)


class WrittenFailures(Written):
    share: float = Field(default=0.0, ge=0.0, le=1.0)
    during: list[Span] = Field(default_factory=list)
    resumed_after: PositiveDuration | None = None


def failures_of(written: WrittenFailures | None) -> Failures | None:
    if written is None:
        return None
    return Failures(share=written.share, during=tuple(written.during), resumed_after=written.resumed_after)


def failing_alone(group: str, members: Sequence[SimulatedTable], place: Place) -> list[Problem]:
    """That members of a group fail: they are updated together, and so they fail together."""
    return [
        Problem(
            message=f"'{member.name}' is updated in the group '{group}', so it cannot fail by itself.",
            origin=place(("tables", member.name, "failures")),
            way_out=f"Write the failures into the group: {{{group}: {{tables: [...], failures: ...}}}}.",
        )
        for member in members
        if member.failures is not None
    ]


def overlapping_stops(stops: Sequence[tuple[float, float]], place: Place) -> list[Problem]:
    """That a warehouse stops which has not started again."""
    in_order = sorted(range(len(stops)), key=lambda at: stops[at])
    return [
        Problem(
            message=f"The warehouse stops at {stops[later][0]:g}, while it is still stopped.",
            origin=place((*_STOPS, later)),
            way_out=f"Let it stop after {stops[earlier][1]:g}, when it has started again.",
        )
        for earlier, later in pairwise(in_order)
        if stops[later][0] <= stops[earlier][1]
    ]
