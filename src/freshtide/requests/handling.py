"""Carrying out what users ask: in the catalog, and as events for the scheduler of the run that is going on, if any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from freshtide.catalog import Catalog, RequestKind, TableRow
from freshtide.core.arrivals import Arrival
from freshtide.core.errors import RunFailedError
from freshtide.core.events import Event, RebuildCancelled, RebuildRequested, TablePaused, TableResumed
from freshtide.core.feeds import Feed
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.feeds import accept_everywhere, released_duplicates, retry_everywhere, skip_everywhere, verdicts
from freshtide.runs import pending_announcements, require_files
from freshtide.world import Disk, OsDisk


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What has come of a request, and what is still to come."""

    message: str
    events: tuple[Event, ...] = ()
    """What the scheduler of a run has to hear of. Where there is none, the next one finds it in the catalog."""
    rebuilds: tuple[str, ...] = ()
    """Tables that the request is not done before; the message is for where there are none."""
    cancels: tuple[int, ...] = ()
    """Requests that are cancelled by it. A run does that, which knows how far it has come with them."""


class RequestHandler:
    """Carries out requests in the catalog."""

    def __init__(
        self,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        catalog: Catalog,
        *,
        register: Callable[[list[Arrival]], None],
        clock: Callable[[], float],
        disk: Disk | None = None,
    ) -> None:
        """`register` writes arrivals down, and tells whoever has to know."""
        self._disk = disk or OsDisk()
        self._feeds = feeds
        self._graph = graph
        self._catalog = catalog
        self._register = register
        self._clock = clock

    def carry_out(self, kind: RequestKind, target: str) -> Answer:
        """Do what is asked about a table or a file; a FreshtideError where it cannot be done."""
        about_tables = {
            RequestKind.PAUSE: self._pause,
            RequestKind.RESUME: self._resume,
            RequestKind.BACKFILL: self._backfill,
            RequestKind.CANCEL: self._cancel,
        }
        about_files = {
            RequestKind.RETRY: self._retry,
            RequestKind.SKIP: self._skip,
            RequestKind.ACCEPT: self._accept,
        }
        if kind in about_tables:
            table = self._graph.called(target)
            require_own_updates(table, self._graph)
            return about_tables[kind](table.name)
        if kind in about_files:
            return about_files[kind](target)
        raise RunFailedError("Nothing runs that could be changed.", way_out="The next run reads the project anew.")

    def _pause(self, table: str) -> Answer:
        unit = self._set_status(table, "paused")
        return Answer(message=f"'{table}' is paused{self._with_the_others(table)}.", events=(TablePaused(table=unit),))

    def _resume(self, table: str) -> Answer:
        unit = self._set_status(table, "active")
        message = f"'{table}' takes part again{self._with_the_others(table)}."
        return Answer(message=message, events=(TableResumed(table=unit),))

    def _backfill(self, table: str) -> Answer:
        """Have a table computed anew, and what depends on it."""
        require_rebuildable(self._catalog.tables.get(table))
        if self._graph[table].is_base:
            require_files(self._disk, self._graph[table], self._catalog.arrivals.loaded(table))
        wish = RebuildRequested(table=self._graph.units.of(table), wished=True)
        return Answer(message=f"'{table}' is rebuilt.", events=(wish,), rebuilds=(table,))

    def _cancel(self, table: str) -> Answer:
        """Have a backfill not gone on with: the table stays as it is."""
        asked = [each for each in self._catalog.requests.open_after(0) if each.kind is RequestKind.BACKFILL]
        numbers = tuple(each.id for each in asked if each.target == table)
        if not numbers:
            raise NothingToCancelError(
                f"No backfill of '{table}' is asked for, so there is none to cancel.",
                way_out="`freshtide status` shows what runs.",
            )
        return Answer(
            message=cancelled(table), events=(RebuildCancelled(table=self._graph.units.of(table)),), cancels=numbers
        )

    def _retry(self, path: str) -> Answer:
        """Take up a file that was put aside."""
        again = retry_everywhere(path, self._feeds, self._catalog.arrivals, self._clock(), disk=self._disk)
        self._register(again)
        return Answer(message=verdicts(again))

    def _skip(self, path: str) -> Answer:
        """Go on without a file that is away."""
        skipped = skip_everywhere(path, self._catalog.arrivals)
        events: list[Event] = []
        for file in skipped:
            self._catalog.arrivals.set_state(file.id, file.state, file.reason)
        self._register(released_duplicates(self._feeds, self._catalog.arrivals, self._clock(), disk=self._disk))
        for file in skipped:
            for unit in self._graph.units.of_all(self._graph.readers(file.feed)):
                tables = [self._graph[table] for table in self._graph.units[unit]]
                events += pending_announcements(unit, tables, self._catalog)
        return Answer(message=verdicts(skipped), events=tuple(events))

    def _accept(self, path: str) -> Answer:
        """Let the content that a file has now take the place of what was registered.

        Tables have to be rebuilt for it that have loaded the old content, or may be just about to.
        """
        accepted = accept_everywhere(path, self._feeds, self._catalog.arrivals, self._clock(), disk=self._disk)
        readers = [table for file in accepted for table in self._graph.for_feed(file.feed)]
        for table in readers:
            others = [file for file in self._catalog.arrivals.loaded(table.name) if file.position != path]
            require_files(self._disk, table, others)
        self._register(accepted)
        outdated = self._catalog.arrivals.outdated_tables()
        outdated |= {update.table for update in self._catalog.updates.running()}
        found = [table.name for table in readers if table.name in outdated]
        rows = self._catalog.tables.all()
        active = tuple(table for table in found if rows[table].status == "active")
        waiting = f" It takes the place of the old content in {', '.join(found)} after `freshtide resume`."
        return Answer(
            message=verdicts(accepted) + waiting * bool(found), events=self._rebuilds_of(found), rebuilds=active
        )

    def _rebuilds_of(self, tables: Iterable[str]) -> tuple[Event, ...]:
        return tuple(RebuildRequested(table=unit) for unit in self._graph.units.of_all(tables))

    def _set_status(self, table: str, status: str) -> str:
        """Of a table and the others of its update group; the unit that they are."""
        unit = self._graph.units.of(table)
        for name in self._graph.units[unit]:
            self._catalog.tables.set_status(name, status)
        return unit

    def _with_the_others(self, table: str) -> str:
        others = ", ".join(f"'{other}'" for other in self._graph.units.beside(table))
        return f", together with {others} of its update group" if others else ""


def cancelled(table: str) -> str:
    return f"The backfill of '{table}' is cancelled: the table stays as it is, and is updated as ever."


class NothingToCancelError(RunFailedError):
    """A backfill that nobody has asked for, or that is done."""


class NothingToRebuildError(RunFailedError):
    """A table that cannot be rebuilt as it stands."""


def require_own_updates(table: Table, graph: TableGraph) -> None:
    """Refuse what is asked about the updates of a table that a flow makes: it has none."""
    if table.made_by is None:
        return
    loaded = next((other.name for other in graph.values() if other.flow == table.made_by), None)
    raise RunFailedError(
        f"'{table.name}' is made by the flow '{table.made_by}', and has no updates of its own.",
        way_out=f"`freshtide flow run {table.made_by}` writes it."
        if loaded is None
        else f"The flow is the load of '{loaded}': ask for that. `freshtide backfill {loaded}` makes both anew.",
    )


def require_rebuildable(row: TableRow) -> None:
    """Refuse the rebuild of a table that takes no part in updates, or that has never had one."""
    if row.status == "failed":
        raise NothingToRebuildError(
            f"'{row.name}' has failed, so it cannot be rebuilt: {row.reason or 'nobody knows why'}",
            way_out=f"Mend the cause and run `freshtide resume {row.name}` first.",
        )
    if row.status != "active":
        raise NothingToRebuildError(
            f"'{row.name}' is {row.status}.", way_out=f"Run `freshtide resume {row.name}` first."
        )
    if row.freshness is None:
        raise NothingToRebuildError(f"'{row.name}' has no data yet, so there is nothing to rebuild.")
