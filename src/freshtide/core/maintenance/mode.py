"""What a way of maintaining tables has to say about itself."""

from __future__ import annotations

from typing import Protocol

from freshtide.core.tables import Table


class Mode(Protocol):
    """A way of maintaining tables, as far as cuts and files are concerned."""

    @property
    def only_appends(self) -> bool:
        """Whether rows, once in the table, stay as they are."""
        ...

    @property
    def has_open_buckets(self) -> bool:
        """Whether an update replaces what was open at the one before, and leaves all else alone."""
        ...

    @property
    def follows_changes(self) -> bool:
        """Whether an update takes as long as much has changed, wherever that is in time."""
        ...

    def open_for(self, table: Table) -> int | None:
        """How long a row of a view stays open after its sources have passed it, in microseconds; None: for ever."""
        ...

    def is_bounded(self, table: Table) -> bool:
        """Whether a row of a view depends only on source rows within the lookback of its own bucket."""
        ...
