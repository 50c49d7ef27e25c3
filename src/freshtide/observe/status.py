"""The state of every table and feed at a moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from freshtide.catalog import Catalog, LatestStreamRow, RebuildProgress, RequestKind, UpdateRow
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.cuts import Cuts
from freshtide.core.graph import TableGraph
from freshtide.core.health import Outage
from freshtide.core.instants import format_instant, micros
from freshtide.core.staleness import trailing_edge
from freshtide.core.tables import Kind, Table
from freshtide.observe.health import outage_json
from freshtide.observe.objective import LastHour, Objective, last_hour, objective_of
from freshtide.project import Project
from freshtide.runs import Places, Trouble, read_trouble
from freshtide.world import OsDisk

_TROUBLE = (ArrivalState.QUARANTINED, ArrivalState.REFUSED, ArrivalState.AWAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """How a table stands."""

    name: str
    level: int
    kind: str
    maintain: str
    status: str
    """active, paused or failed."""
    reason: str | None
    priority: float
    update_group: str | None
    freshness: float | None
    staleness: float | None
    target_lag: float | None
    pending: int
    """Files that wait to be loaded; for a derived table 1 if its sources have moved on."""
    running_on: int | None
    running_since: float | None
    rebuilds: bool
    """Whether the update that runs computes the table anew."""
    rebuild_progress: RebuildProgress | None
    """How far that is, where it goes in parts."""
    interrupted_since: float | None
    """When the update was started that a run has left unfinished: it died, and the next one repeats it."""
    backfill_waits: bool
    """Whether a backfill was asked for that no run goes on with: the next one takes it up."""
    updates: int
    failures: int
    mean_seconds: float | None
    waits_for: str | None = None
    """For a base table: the file that it waits for, which is away."""
    is_reference: bool = False
    """Whether views take its newest content, and do not wait for it."""
    made_by: str | None = None
    """The flow that makes it; it has no updates of its own, and its freshness is when it was changed last."""
    rows: int | None = None
    """Of a table that a flow makes: how many it holds."""
    silent_since: float | None = None
    """For a base table whose feed is in an outage: since when no file has come."""
    update_staleness: float | None = None
    """Of an update table, and of a reference table that has no time: how long its oldest pending update has waited, 0
    with nothing pending (Moga et al. 2009).

    It is not `staleness`, the age of the newest row (Golab et al. 2011): that grows while nothing comes, too."""
    residents: int | None = None
    """Of an update table: the rows that wait in its queue."""
    superseded: int | None = None
    """Of an update table: the rows that newer ones of their key replaced before they were processed."""
    rejected: int | None = None
    """Of an update table: the rows that were kept aside."""

    @property
    def lag(self) -> float | None:
        """The staleness that a target lag is about: an update table is late with what it has not taken in yet."""
        return self.staleness if self.update_staleness is None else self.update_staleness

    @property
    def within_target(self) -> bool | None:
        """Whether the target lag is kept; None where there is none, or nothing has ever been loaded."""
        if self.target_lag is None or self.lag is None:
            return None
        return self.lag <= self.target_lag

    @property
    def rebuild_story(self) -> str | None:
        """How far the rebuild is that the update which runs is, or is a part of."""
        if not self.rebuilds:
            return None
        progress = self.rebuild_progress
        if progress is None:
            return "rebuild"
        if progress.unit == "files":
            return f"rebuild, part {progress.part}, {progress.done} of {progress.whole} files done"
        return f"rebuild, part {progress.part}, {progress.done / max(progress.whole, 1):.0%} done"

    @property
    def backfill_story(self) -> str | None:
        """What becomes of a backfill that no run goes on with."""
        if not self.backfill_waits:
            return None
        return (
            f"A backfill of '{self.name}' waits for the next run: `freshtide run` takes it up, and "
            f"`freshtide backfill {self.name} --cancel` drops it."
        )

    def as_json(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in self.__slots__}
        for name in ("freshness", "silent_since", "interrupted_since"):
            shown[name] = None if shown[name] is None else format_instant(shown[name])
        progress = None if self.rebuild_progress is None else asdict(self.rebuild_progress)
        return {**shown, "rebuild_progress": progress, "within_target": self.within_target}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedReport:
    """How a feed stands: number of files per state, and those in trouble."""

    name: str
    files: dict[str, int]
    latest_timestamp: float | None
    troubled: tuple[Arrival, ...] = ()
    faults: tuple[str, ...] = ()
    """What kept the last run from looking at it."""
    outage: Outage | None = None
    """The outage that goes on."""

    def as_json(self) -> dict[str, Any]:
        latest = None if self.latest_timestamp is None else format_instant(self.latest_timestamp)
        troubled = [{"path": f.position, "state": str(f.state), "reason": f.reason} for f in self.troubled]
        return {
            "name": self.name,
            "files": self.files,
            "latest_timestamp": latest,
            "troubled": troubled,
            "faults": self.faults,
            "outage": outage_json(self.outage),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseStatus:
    """Everything at a moment."""

    name: str
    at: float
    tables: tuple[TableReport, ...]
    feeds: tuple[FeedReport, ...] = field(default=())
    surroundings: Trouble | None = None
    """Why the run that goes on starts nothing: disk, database or Spark."""
    hour: LastHour | None = None
    """What the last hour was like, where that was asked for."""

    @property
    def objective(self) -> Objective:
        """What the tables' staleness and lateness add up to now; a table that never had data does not count."""
        return objective_of((t.priority, t.lag, t.target_lag) for t in self.tables if t.lag is not None)

    @property
    def updated(self) -> tuple[TableReport, ...]:
        """Without the tables that flows make, which have no updates of their own."""
        return tuple(table for table in self.tables if table.made_by is None)

    @property
    def broken(self) -> tuple[TableReport, ...]:
        """Tables beyond their target lag."""
        return tuple(table for table in self.tables if table.within_target is False)

    @property
    def trouble(self) -> str | None:
        """How much is wrong with the feeds, None where nothing is."""
        files = sum(len(feed.troubled) for feed in self.feeds)
        feeds = sum(1 for feed in self.feeds if feed.faults or feed.outage)
        parts = [f"{n} {what}{'' if n == 1 else 's'}" for n, what in ((files, "file"), (feeds, "feed")) if n]
        return f"{' and '.join(parts)} in trouble" if parts else None

    def as_json(self) -> dict[str, Any]:
        hour = self.hour or LastHour(until=self.at)
        return {
            "name": self.name,
            "at": format_instant(self.at),
            "objective": {"now": self.objective.as_json(), "last_hour": hour.as_json()},
            "tables": [{**table.as_json(), "last_hour": hour.of_table_as_json(table.name)} for table in self.tables],
            "feeds": [feed.as_json() for feed in self.feeds],
            "surroundings": None if self.surroundings is None else self.surroundings.as_json(),
        }


def warehouse_status(
    project: Project,
    catalog: Catalog,
    now: float,
    *,
    select: tuple[str, ...] | None = None,
    run_going_on: bool = True,
    looking_back: bool = False,
) -> WarehouseStatus:
    """Read the catalog and put it into words; looking back, with what the last hour was like.

    Without a run going on, what the catalog has as an outage or as running was left behind by one that was killed.
    """
    rows = catalog.tables.all()
    freshness = {name: row.freshness for name, row in rows.items()}
    safe = {name: row.safe for name, row in rows.items()}
    pending = catalog.arrivals.pending_counts()
    begun = {update.table: update for update in catalog.updates.running()}
    running, interrupted = (begun, {}) if run_going_on else ({}, begun)
    outages = catalog.outages.going_on() if run_going_on else {}
    asked = () if run_going_on else catalog.requests.open_after(0)
    backfills = {request.target for request in asked if request.kind is RequestKind.BACKFILL}
    streams = catalog.streams.all()
    awaited = catalog.arrivals.awaited()
    cuts = Cuts(project.graph)
    reports = []
    chosen = [project.graph[name] for name in (select if select is not None else project.graph)]
    for table in chosen:
        name = table.name
        row = rows.get(name)
        fresh = freshness.get(name)
        reports.append(
            TableReport(
                name=name,
                level=project.graph.level(name),
                kind=kind_in_words(table),
                maintain=str(table.maintain),
                status=row.status if row else "active",
                reason=row.reason if row else None,
                priority=table.priority,
                update_group=table.update_group,
                freshness=fresh,
                staleness=None if fresh is None or not table.has_time else max(0.0, now - fresh),
                target_lag=table.target_lag,
                pending=pending.get(name, 0) if table.is_base else int(is_behind(table, fresh, safe, cuts)),
                running_on=_track(running.get(name)),
                running_since=running[name].started_at if name in running else None,
                rebuilds=name in running and running[name].kind == "rebuild",
                rebuild_progress=running[name].progress if name in running else None,
                interrupted_since=interrupted[name].started_at if name in interrupted else None,
                backfill_waits=name in backfills,
                updates=row.updates if row else 0,
                failures=row.failures if row else 0,
                mean_seconds=row.mean_seconds if row else None,
                waits_for=awaited.get(name),
                is_reference=table.is_reference,
                made_by=table.made_by,
                rows=row.counts.get("loaded", 0) if row is not None and table.made_by is not None else None,
                silent_since=outages[table.feed].silent_since if table.feed in outages else None,
                **_stream_standing(table, streams.get(name), catalog, now),
                **_content_standing(table, fresh, catalog, now),
            )
        )
    return WarehouseStatus(
        name=project.settings.name,
        at=now,
        tables=tuple(reports),
        feeds=_feeds(project, catalog, outages),
        surroundings=read_trouble(OsDisk(), Places(project).trouble) if run_going_on else None,
        hour=last_hour(catalog, chosen, rows, now) if looking_back else None,
    )


def kind_in_words(table: Table) -> str:
    """Where the rows of a table come from: files, other tables, or a flow."""
    if table.made_by is not None:
        return "made"
    return "base" if table.is_base else "derived"


def pending_since(table: str, stream: LatestStreamRow | None, catalog: Catalog) -> float | None:
    """Since when an update has been pending for an update table, in its queue or in a file that is still to be read."""
    taken_in = stream.taken_in if stream is not None and stream.taken_in is not None else 0
    moments = [file.arrived_at for file in catalog.arrivals.pending(table) if file.id > taken_in]
    if stream is not None and stream.pending_since is not None:
        moments.append(stream.pending_since)
    return min(moments, default=None)


def _stream_standing(table: Table, stream: LatestStreamRow | None, catalog: Catalog, now: float) -> dict[str, Any]:
    """How a base table stands into which an update stream goes; nothing for any other."""
    if table.kind is not Kind.LATEST:
        return {}
    since = pending_since(table.name, stream, catalog)
    known = stream or LatestStreamRow()
    return {
        "update_staleness": 0.0 if since is None else max(0.0, now - since),
        "residents": known.residents,
        "superseded": known.superseded,
        "rejected": known.rejected,
    }


def _content_standing(table: Table, fresh: float | None, catalog: Catalog, now: float) -> dict[str, Any]:
    """How a reference table without time stands: it is as good as new while nothing waits for it."""
    if table.has_time or table.kind in (Kind.LATEST, Kind.MADE):
        return {}
    since = pending_since(table.name, None, catalog) if table.is_base else None
    if since is None:
        return {"update_staleness": None if fresh is None else 0.0}
    return {"update_staleness": max(0.0, now - since)}


def limiting_source(graph: TableGraph, table: str, safe: dict[str, float | None]) -> str | None:
    """The direct source that a derived table cannot get ahead of; the one without data where there is one."""
    empty = [name for name in graph[table].reference_sources if safe.get(name) is None]
    return min(
        empty or graph[table].timed_sources,
        key=lambda name: (safe.get(name) is not None, safe.get(name) or 0.0, name),
        default=None,
    )


def is_behind(table: Table, fresh: float | None, safe: Mapping[str, float | None], cuts: Cuts) -> bool:
    """Whether the sources of a view have moved on so far that an update would get it further."""
    edge = edge_of(table, safe)
    goal = None if edge is None else cuts.reach(table.name, micros(edge))
    return goal is not None and (fresh is None or goal > micros(fresh))


def edge_of(table: Table, safe: Mapping[str, float | None]) -> float | None:
    """Up to where its sources let a view go; None while one of them has no data.

    One of nothing but reference tables goes with whatever changes.
    """
    contents = [safe.get(source) for source in table.reference_sources]
    if any(content is None for content in contents):
        return None
    if table.timed_sources:
        return trailing_edge(safe.get(source) for source in table.timed_sources)
    return max((content for content in contents if content is not None), default=None)


def _track(update: UpdateRow | None) -> int | None:
    return None if update is None else update.track


def _once(files: Iterable[Arrival]) -> tuple[Arrival, ...]:
    """One record per path: what was refused tells more than that the old content is put aside for it."""
    return tuple(
        {file.position: file for file in sorted(files, key=lambda file: file.state is ArrivalState.REFUSED)}.values()
    )


def _feeds(project: Project, catalog: Catalog, outages: Mapping[str, Outage]) -> tuple[FeedReport, ...]:
    counts = catalog.arrivals.counts()
    troubled = catalog.arrivals.in_state(*_TROUBLE)
    faults = catalog.faults.all()
    return tuple(
        FeedReport(
            name=name,
            files=counts.get(name, {}),
            latest_timestamp=catalog.arrivals.latest_timestamp(name),
            troubled=_once(file for file in troubled if file.feed == name),
            faults=faults.get(name, ()),
            outage=outages.get(name),
        )
        for name in project.feeds
    )
