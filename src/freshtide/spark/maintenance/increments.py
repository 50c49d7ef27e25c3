"""What a view gains by an update, and what the ways of computing it work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from freshtide.core.cuts import Cuts
from freshtide.core.steps import Span
from freshtide.core.tables import Table
from freshtide.spark.asof import TableStates
from freshtide.storage import DataFile, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """What an update puts into a table, and which files it replaces."""

    frame: DataFrame
    remove: tuple[DataFile, ...] = ()
    replace_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view, and what it can be computed from."""

    table: Table
    states: TableStates
    cuts: Cuts

    def everything(self, cut: int) -> NewRows:
        """All of it, as of a cut."""
        return NewRows(frame=self.states.computed(self.table, cut), replace_all=True)


Spanned = Callable[[View, Span, int], DataFrame]
"""What a view gains in one part of a rebuild, which ends at a cut."""
Increment = Callable[[View, Snapshot, int, int], NewRows]
"""What brings a view as it stands from one freshness to a cut."""
