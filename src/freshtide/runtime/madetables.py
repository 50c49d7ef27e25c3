"""Tables that a flow makes beside the one that it loads: booked after the load, and told to those who read them."""

from __future__ import annotations

import logging
from functools import partial

from freshtide.catalog import Catalog
from freshtide.core.events import ContentChanged
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.runtime.booking import GoneBackError, catch_up
from freshtide.runtime.watching import Surroundings
from freshtide.storage import Store
from freshtide.world import Clock

_logger = logging.getLogger(__name__)


class MadeTables:
    """Keeps the books of tables that have no updates of their own."""

    def __init__(
        self, graph: TableGraph, store: Store, catalog: Catalog, *, clock: Clock, surroundings: Surroundings
    ) -> None:
        self._graph = graph
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._surroundings = surroundings

    def booked_with(self, table: Table) -> list[ContentChanged]:
        """What the flow of a table has changed beside it; a SurroundingsError where the run ends before that."""
        found = [self._booked(made) for made in self._graph.made_by(table.flow)]
        return [event for event in found if event is not None]

    def _booked(self, made: Table) -> ContentChanged | None:
        insist, standing = self._surroundings.insist, partial(self._catalog.tables.get, made.name)
        # Asked once: whoever has to try again to write it down must not find that it is there, and tell nobody.
        before = insist(standing)
        catching_up = partial(catch_up, made, before, graph=self._graph, store=self._store, catalog=self._catalog)
        try:
            revised = insist(partial(catching_up, now=self._clock.now()))
        except GoneBackError as error:
            # The load has landed, and is not to blame. What is lost is found by the next start, and made anew.
            _logger.warning("%s", error)
            return None
        changed_at = insist(standing).freshness
        if revised is None or changed_at is None or changed_at == before.freshness:
            return None
        return ContentChanged(table=made.name, freshness=changed_at, revised=revised)
