"""The next refresh of a view: all of it, or as much as others can wait for.

A view that is computed from nothing goes step by step in time, where its maintenance lets it. One that has never been
computed comes forward by each piece. One whose content does not count any more, because it is to be computed anew, was
defined anew or its sources were, stays as it is until the last part replaces all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from freshtide.core.cuts import Cuts
from freshtide.core.definitions import FormerRows, fingerprints, same_in
from freshtide.core.graph import TableGraph
from freshtide.core.instants import micros, seconds
from freshtide.core.steps import Refresh
from freshtide.core.tables import Table
from freshtide.runtime.execution import pool_of
from freshtide.runtime.pieces import PieceSizes
from freshtide.runtime.progress import Progress
from freshtide.runtime.rebuilds import Rebuilds
from freshtide.runtime.spans import SourceWeights, cut_of
from freshtide.runtime.viewrebuilds import ViewPart
from freshtide.runtime.ways import ViewWays
from freshtide.storage import Snapshot, Store, UpdateRecord, kept_upto


class ViewSteps:
    """Plans refreshes."""

    def __init__(
        self,
        graph: TableGraph,
        store: Store,
        *,
        former: Mapping[str, FormerRows],
        ways: ViewWays,
        pieces: PieceSizes,
        rebuilds: Rebuilds,
    ) -> None:
        """`former` are rows of views that say what their queries give, though these are others by now."""
        self._former = former
        self._graph = graph
        self._ways = ways
        self._cuts = Cuts(graph)
        self._definitions = fingerprints(graph)
        self._store = store
        self._pieces = pieces
        self._rebuilds = rebuilds

    def next(self, table: Table, progress: Progress) -> Refresh:
        command = progress.command
        whole = Refresh(table=table, upto=command.upto, rebuild=command.rebuild)
        if table.may_follow and not command.rebuild:
            pool, definition = pool_of(command.track), self._definitions[table.name]
            progress.way = self._ways.chosen(table, definition=definition, pool=pool)
            return replace(whole, way=progress.way.choice.way)
        if not progress.in_parts or not self._cuts.goes_by_spans(table.name):
            return whole
        current = self._store.table(table.name, time_column=table.time_column).snapshot
        if current is None or current.freshness is None:
            return self._first(whole, progress)
        if self._has_rows_of_former(table, current) and not command.rebuild:
            return whole
        return whole if self._counts(table, current) and not command.rebuild else self._anew(whole, progress)

    def measured(self, step: Refresh, taken: float, progress: Progress, landed: UpdateRecord | None) -> None:
        """A step has taken so many seconds; what has landed, if anything has."""
        if progress.way is not None and landed is not None:
            progress.learnt = progress.way.learnt_by(landed, taken)
        self._pieces.measured_span(step.table.name, progress.weight, taken)

    def _has_rows_of_former(self, table: Table, current: Snapshot) -> bool:
        """Whether what the view is to hold is told by the rows that it has."""
        former = self._former.get(table.name)
        return former is not None and current.record is not None and current.record.definition == former.definition

    def _counts(self, table: Table, current: Snapshot) -> bool:
        """Whether anything that the view holds is what its query gives over its sources as they are."""
        definition, revised_since = self._definitions[table.name], self._revised_since
        former, sources = same_in(self._former, table.name), table.sources
        return (
            kept_upto(current, definition=definition, former=former, sources=sources, revised_since=revised_since)
            is not None
        )

    def _first(self, whole: Refresh, progress: Progress) -> Refresh:
        """A view that nobody has read yet: what follows is chopped by what the scheduler learns of its refreshes."""
        if progress.command.within is None:
            return whole
        weights, room = self._weights(whole.table), self._room(whole.table, progress)
        cut = cut_of(self._cuts, whole.table.name, weights, after=None, weight=room, upto=micros(progress.command.upto))
        progress.weight = weights.between(None, cut)
        return Refresh(table=whole.table, upto=seconds(cut), rebuild=whole.rebuild)

    def _anew(self, whole: Refresh, progress: Progress) -> Refresh:
        """The next part of a view that is computed anew beside what it holds."""
        table, upto = whole.table, micros(whole.upto)
        is_revised = partial(self._is_revised, table)
        underway = self._rebuilds.of_view(table.name, (table, self._definitions[table.name]))
        underway.fit(is_revised, upto=upto)
        weights, after = self._weights(table), underway.upto
        room = self._room(table, progress, stretch=underway.pace.stretch)
        cut = micros(seconds(cut_of(self._cuts, table.name, weights, after=after, weight=room, upto=upto)))
        if cut >= upto and after is None:
            return whole
        progress.weight = weights.between(after, cut)
        progress.part = ViewPart(
            underway=underway,
            upto=cut,
            left=weights.between(after, upto),
            whole=weights.between(None, upto),
            is_last=cut >= upto,
            is_revised=is_revised,
        )
        return Refresh(table=table, upto=seconds(cut), rebuild=whole.rebuild, span=progress.part.span)

    def _room(self, table: Table, progress: Progress, *, stretch: float = 1.0) -> float:
        within = progress.command.within
        return self._pieces.span(table.name, aim=progress.aim, within=within) * stretch

    def _weights(self, table: Table) -> SourceWeights:
        return SourceWeights(
            self._store.table(source, time_column=self._graph[source].time_column).snapshot
            for source in table.timed_sources
        )

    def _is_revised(self, table: Table, seen: Mapping[str, int], upto: int) -> bool:
        found = (self._revised_since(source, seen.get(source, 0)) for source in table.sources)
        return any(revised is not None and revised <= upto for revised in found)

    def _revised_since(self, source: str, number: int) -> int | None:
        return self._store.table(source).revised_since(number)
