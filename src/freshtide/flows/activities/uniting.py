"""Activities that make one stream of rows out of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from freshtide.flows.activities.activity import Activity


class _OfTwo(Activity):
    """Waits for all of its two inputs."""

    memory_intensive = True
    least_inputs, most_inputs = 2, 2

    @property
    def whole_inputs(self) -> tuple[int, ...]:
        return (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(_OfTwo):
    """Of a hash join the second input must be complete, of a sort-merge join both."""

    kind = "join"
    needed = ("on",)
    on: tuple[str, ...]
    how: Literal["inner", "left", "right", "full", "semi", "anti"] = "inner"
    method: Literal["hash", "sort-merge"] = "hash"

    @property
    def whole_inputs(self) -> tuple[int, ...]:
        # A row of the second input that nothing matched is known only at the end of the first.
        pipelines = self.method == "hash" and self.how in {"inner", "left", "semi", "anti"}
        return (1,) if pipelines else (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Activity):
    kind = "union"
    least_inputs, most_inputs = 2, None


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedUnion(_OfTwo):
    kind = "sorted_union"
    needed = ("by",)
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(_OfTwo):
    """The rows of the first input whose key is not in the second."""

    kind = "difference"
    needed = ("on",)
    on: tuple[str, ...]
