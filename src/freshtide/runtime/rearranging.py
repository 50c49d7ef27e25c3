"""A changed project, made ready to take the place of the one at work. Nothing of the run is touched by that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from freshtide.catalog import Catalog
from freshtide.core.definitions import same_in
from freshtide.core.errors import FreshtideError
from freshtide.core.events import Event, RebuildRequested
from freshtide.feeds import check_feed, says_the_same
from freshtide.planning import require_tracks
from freshtide.project import Changes, Project, Subject, What, changes_between
from freshtide.runs import beginning_of, pending_announcements, require_files
from freshtide.runtime.arrangements import Arrangement, Prepared, Successor
from freshtide.runtime.recovery import bring_up, revised_views, time_columns_of
from freshtide.scheduling import Reconfiguration
from freshtide.storage import Store
from freshtide.world import Disk


class RestartNeededError(FreshtideError):
    """Changes that cannot take effect in a run that is going on."""

    def __init__(self, changes: Changes) -> None:
        restarts = changes.restarts
        told = "; ".join(f"{change} ({change.restart})" for change in restarts)
        others = len(changes.items) - len(restarts)
        beside = f" The other {others} could take effect at once." if others else ""
        super().__init__(
            f"{len(restarts)} of {len(changes.items)} changes need a restart, so nothing was changed: {told}.{beside}",
            way_out="Take them back and apply the others, or end the run and start it again.",
        )


class StillRunningError(FreshtideError):
    """Tables that were taken out and come back before their last updates have ended."""

    def __init__(self, units: Collection[str]) -> None:
        names = ", ".join(f"'{unit}'" for unit in units)
        super().__init__(
            f"The last update from before {names} {'was' if len(units) == 1 else 'were'} taken out is still running.",
            way_out="Apply the project once more when it has ended; `freshtide status` shows it.",
        )


class Rearranging:
    """From the files of a project to what a run can go on with."""

    def __init__(
        self,
        *,
        reload: Callable[[], Project],
        arrange: Callable[[Project], Arrangement],
        scheduled: Callable[[Project], Project],
        catalog: Catalog,
        store: Store,
        clock: Callable[[], float],
        disk: Disk,
        outgrown: Callable[[Arrangement], Mapping[str, str]],
    ) -> None:
        """`scheduled` is the project as this run schedules it.

        `outgrown` are base tables to which no row can be added as they are, and why.
        """
        self._disk = disk
        self._outgrown = outgrown
        self._reload = reload
        self._arrange = arrange
        self._scheduled = scheduled
        self._catalog = catalog
        self._store = store
        self._clock = clock
        self._last: tuple[Arrangement, Prepared] | None = None

    def prepare(self, current: Arrangement, *, leaving: Collection[str]) -> Prepared:
        """What the project says now, ready to be at work; a FreshtideError where it cannot be.

        `leaving` are units that were taken out before and still run.
        """
        project = self._reload()
        changes = changes_between(current.project, project)
        if not changes:
            return Prepared(changes=changes, arrangement=current)
        if changes.restarts:
            raise RestartNeededError(changes)
        if back := sorted(set(leaving).intersection(project.graph.units)):
            raise StillRunningError(back)
        if self._last is not None:
            before, prepared = self._last
            if before is current and prepared.changes.digest == changes.digest:
                return prepared
        for feed in project.feeds.values():
            check_feed(feed)
        require_tracks(self._scheduled(project), self._catalog)
        arrangement = self._arrange(project)
        outgrown = self._outgrown(arrangement)
        for name in outgrown:
            require_files(self._disk, project.graph[name], self._catalog.arrivals.loaded(name))
        former = arrangement.computer.former
        same = [name for name in former if same_in(former, name) is not None]
        changes = changes.rephrased(same, widened=former.keys() - same).loading_anew(outgrown)
        prepared = Prepared(changes=changes, arrangement=arrangement)
        self._last = current, prepared
        return prepared

    def settle(self, prepared: Prepared, current: Arrangement) -> Successor:
        """Let the catalog know of tables that come. It may be done again if it fails; nobody else hears of them yet.

        Rows of tables that are gone, or do not come after all, are forgotten by the next start.
        """
        project, changes = prepared.arrangement.project, prepared.changes
        graph, catalog = project.graph, self._catalog
        added = set(changes.named(Subject.TABLE, What.ADDED))
        names = [name for name in graph if name in added]
        self._store.follow(time_columns_of(graph[name] for name in names))
        # Whatever it was when it was here before, it begins as at a first start.
        bring_up(names, graph, known={}, store=self._store, catalog=catalog, now=self._clock())
        for table in graph.values():
            if table.feed is not None and table.name not in added and current.graph[table.name].feed != table.feed:
                catalog.arrivals.adopt(table.name, table.feed)
        revised = revised_views(graph, self._store) & added
        change = Reconfiguration(
            after=beginning_of(self._scheduled(project), catalog, revised=revised),
            redefined=graph.units.of_all(name for name in changes.anew if not graph[name].is_base),
        )
        feeds = current.project.feeds
        return Successor(
            arrangement=prepared.arrangement,
            changes=changes,
            change=change,
            known={
                name: catalog.arrivals.known_paths(name)
                for name, feed in project.feeds.items()
                if name not in feeds or not says_the_same(feeds[name], feed)
            },
            announcements=tuple(self._announcements(prepared, current)),
            rebuilds=tuple(
                RebuildRequested(table=unit, before_loads=True)
                for unit in graph.units.of_all(name for name in changes.anew if graph[name].is_base)
            ),
        )

    def _announcements(self, prepared: Prepared, current: Arrangement) -> Iterator[Event]:
        graph = prepared.arrangement.graph
        for unit, names in graph.units.items():
            news = [graph[name] for name in names if name not in current.graph]
            news += [
                graph[name] for name in names if name in current.graph and current.graph[name].feed != graph[name].feed
            ]
            yield from pending_announcements(unit, news, self._catalog)
