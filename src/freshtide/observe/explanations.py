"""Why a table is as stale as it is, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from freshtide.catalog import Catalog, UpdateRow
from freshtide.core.choosing import Learnt
from freshtide.core.durations import format_duration
from freshtide.core.feeds import Feed
from freshtide.core.instants import format_instant
from freshtide.core.tables import Maintenance, Table
from freshtide.observe.health import feed_healths
from freshtide.observe.outlooks import group_story, outlook_of, prospect_story, queue_story, reservation_story
from freshtide.observe.reconstruction import scheduler_now
from freshtide.observe.status import TableReport, limiting_source, warehouse_status
from freshtide.project import Project
from freshtide.runs import Places, traced_look
from freshtide.scheduling import Prospect
from freshtide.scheduling.orderings import TargetLag


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Sentences, most important first, and the numbers behind them."""

    table: str
    sentences: tuple[str, ...]
    limited_by: tuple[str, ...]
    """The chain of sources that holds the table back, from the table down to a base table."""
    queue: tuple[dict[str, Any], ...]
    """What waits, best first."""
    outlook: dict[str, Any]
    """How the table stands with the scheduler: lane, priority, benefit, chopping, who goes first, why it waits."""
    last_decision: dict[str, Any] | None
    """Why its last update was chosen, and why the runners-up waited."""

    def as_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "sentences": list(self.sentences),
            "limited_by": list(self.limited_by),
            **self.outlook,
            "queue": list(self.queue),
            "last_decision": self.last_decision,
        }


def explain(project: Project, catalog: Catalog, name: str, now: float, *, run_going_on: bool = True) -> Explanation:
    """Look at the table, its sources and the queue.

    Without a run going on, what the catalog has as running was left behind by one that was killed.
    """
    status = warehouse_status(project, catalog, now, run_going_on=run_going_on)
    reports = {report.name: report for report in status.tables}
    report = reports[project.graph[name].name]
    scheduler = scheduler_now(project, catalog, now, run_going_on=run_going_on)
    unit = project.graph.units.of(name)
    is_traced = run_going_on and project.settings.policy.adaptive is not None
    traced = traced_look(Places(project).trace, unit) if is_traced else None
    outlook = outlook_of(scheduler, unit, len(project.graph), traced=traced)
    chain = _limiting_chain(project, catalog, name)
    steering = outlook.prospect if project.settings.policy.ordering == TargetLag.name else None
    sentences = [_how_stale(report), *_applied_target(report, unit, steering), *_state(report, now)]
    if report.backfill_story is not None:
        sentences.append(report.backfill_story)
    if status.surroundings is not None:
        sentences.append(status.surroundings.story(now))
    if project.graph[name].is_base:
        sentences += _feed_story(project, catalog, report, now)
    else:
        sentences += _source_story(report, reports, chain)
        sentences += _reference_story(project, name, reports)
        sentences += _standing_sources(project, name, reports)
    sentences += _awaited_files(project, reports, name)
    sentences += _ailing_feeds(project, catalog, name, now, run_going_on=run_going_on)
    sentences += group_story(outlook, project.graph.units.beside(name))
    sentences += prospect_story(outlook)
    sentences += reservation_story(outlook, now)
    sentences += queue_story(scheduler, outlook, run_going_on=run_going_on)
    last = next(iter(catalog.updates.recent(name, 1)), None)
    sentences += _last_decision(last)
    sentences += maintenance_story(project.graph[name], catalog.tables.get(name).learnt)
    return Explanation(
        table=name,
        # The scheduler has nothing to do with a table that a flow makes, but to tell others that it has changed.
        sentences=tuple(sentences) if report.made_by is None else (_made_story(report),),
        limited_by=chain,
        outlook=outlook.as_json(),
        last_decision=last.decision if last else None,
        queue=tuple(
            {
                "table": c.table,
                "benefit": c.benefit,
                "delta": c.delta,
                "cost": c.cost,
                "waiting": max(0.0, now - c.released_at),
                "waits": scheduler.look(c.table).waits,
            }
            for c in outlook.queue
        ),
    )


def _how_stale(report: TableReport) -> str:
    if report.update_staleness is not None:
        return _how_long_pending(report, report.update_staleness)
    if report.staleness is None or report.freshness is None:
        return f"'{report.name}' has never been updated."
    told = (
        f"'{report.name}' is {format_duration(report.staleness)} stale: "
        f"it holds everything up to {format_instant(report.freshness)}."
    )
    return told + _target_story(report)


def _made_story(report: TableReport) -> str:
    if report.freshness is None:
        return f"'{report.name}' is made by the flow '{report.made_by}', which has not written it yet."
    return (
        f"'{report.name}' is made by the flow '{report.made_by}': it has {report.rows:,} rows, and was changed last at "
        f"{format_instant(report.freshness)}."
    )


def _how_long_pending(report: TableReport, waited: float) -> str:
    """The staleness of an update table."""
    if not waited:
        held = "all that there is" if report.residents is None else "the newest row of every key"
        return f"Nothing is pending for '{report.name}': it holds {held}." + _target_story(report)
    told = f"The oldest pending update of '{report.name}' has waited {format_duration(waited)}."
    return told + _target_story(report)


def _target_story(report: TableReport) -> str:
    if report.target_lag is None:
        return ""
    kept = "within" if report.within_target else "beyond"
    return f" That is {kept} its target lag of {format_duration(report.target_lag)}."


def _applied_target(report: TableReport, unit: str, steering: Prospect | None) -> list[str]:
    """Which target lag the table is updated by, and whose it is, where it is not just its own."""
    if steering is None:
        return ["It has no target lag."] if report.target_lag is None else []
    applied, giver = format_duration(steering.target), steering.target_from
    if giver is None:
        return [f"It has no target lag, and is updated as if that were three periods, {applied}."]
    if giver != unit:
        own = "It has no target lag of its own, and" if report.target_lag is None else "It"
        return [f"{own} is updated by that of '{giver}', {applied}, which is computed from it."]
    return []


def _state(report: TableReport, now: float) -> list[str]:
    if report.running_on is not None and report.running_since is not None:
        since = format_duration(max(0.0, now - report.running_since))
        story = "" if report.rebuild_story is None else f" ({report.rebuild_story})"
        return [f"It is being updated on track {report.running_on}, for {since} now{story}."]
    if report.status == "failed":
        return [f"It has failed and waits for `freshtide resume {report.name}`: {report.reason}"]
    if report.status == "paused":
        return [f"It is paused: `freshtide resume {report.name}` lets it go on."]
    if report.interrupted_since is not None:
        return [
            f"Its update that began {format_duration(max(0.0, now - report.interrupted_since))} ago was interrupted: "
            "the run has died. The next run repeats it."
        ]
    return []


def _feed_story(project: Project, catalog: Catalog, report: TableReport, now: float) -> list[str]:
    feed_name = project.graph[report.name].feed or ""
    feed = project.feeds[feed_name]
    told = _stream_story(report)
    if not feed.brings_files:
        return told
    # What was pending when the report was made may have been loaded since.
    oldest = min((file.arrived_at for file in catalog.arrivals.pending(report.name)), default=None)
    if report.pending and oldest is not None:
        return [
            *told,
            f"{report.pending} file{'s' if report.pending > 1 else ''} of '{feed_name}' wait to be loaded, "
            f"the oldest for {format_duration(max(0.0, now - oldest))}.",
        ]
    latest = catalog.arrivals.latest_timestamp(feed_name)
    if latest is None:
        return [*told, f"No file has arrived in '{feed_name}' yet ({feed.folder.path})."]
    every = f" It should bring one every {format_duration(feed.rhythm.period)}." if feed.rhythm.period else ""
    return [
        *told,
        f"Everything that has arrived in '{feed_name}' is loaded; its newest file is stamped "
        f"{format_duration(max(0.0, now - latest))} ago.{every}",
    ]


def _stream_story(report: TableReport) -> list[str]:
    """What waits in the queue of an update table, and what will never come out of it."""
    if report.residents is None:
        return []
    waits = f"{report.residents:,} row{' waits' if report.residents == 1 else 's wait'} in its queue"
    return [
        f"{waits}; so far {report.superseded or 0:,} were superseded by newer ones before they were processed, and "
        f"{report.rejected or 0:,} rejected."
    ]


def _awaited_files(project: Project, reports: dict[str, TableReport], name: str) -> list[str]:
    """The files that hold back the table, or the base tables that it is built on."""
    return [
        f"'{table}' waits for {awaited}, which is away: it is loaded when it is back, "
        f"and `freshtide feeds skip {awaited}` goes on without it."
        for table in (name, *sorted(project.graph.ancestors(name)))
        if (awaited := reports[table].waits_for) is not None
    ]


def _ailing_feeds(project: Project, catalog: Catalog, name: str, now: float, *, run_going_on: bool) -> list[str]:
    """What is wrong with the feeds that the table's rows come from."""
    graph = project.graph
    feeds = {table.feed for table in (graph[name], *(graph[above] for above in graph.ancestors(name))) if table.feed}
    healths = feed_healths(project, catalog, now, run_going_on=run_going_on, feeds=sorted(feeds))
    return [health.sentence for health in healths.values() if health.sentence is not None]


def _source_story(report: TableReport, reports: dict[str, TableReport], chain: tuple[str, ...]) -> list[str]:
    if len(chain) < 2:
        return []
    source = reports[chain[1]]
    if source.freshness is None:
        told = f"Its source '{source.name}' has no data yet."
    else:
        told = f"Its least fresh source is '{source.name}', {format_duration(source.staleness or 0.0)} stale."
    if not report.pending and report.status == "active" and report.freshness is not None:
        told += " It has caught up with it and can get no fresher before that moves."
    if len(chain) > 2:
        told += f" What holds that back in turn: {' <- '.join(chain[1:])}."
    return [told]


def _reference_story(project: Project, name: str, reports: dict[str, TableReport]) -> list[str]:
    """What the table takes as it is, and what of that is not there yet."""
    graph = project.graph
    contents = [source for source in graph[name].sources if graph[source].is_reference]
    told = []
    for empty in (source for source in contents if reports[source].freshness is None):
        feed, flow = graph[empty].feed, graph[empty].made_by
        brings = "" if feed is None or not project.feeds[feed].brings_files else _place_of(project.feeds[feed])
        first = "load" if flow is None else f"run of the flow '{flow}', which makes"
        told.append(
            f"It waits for the first {first} {'of ' if flow is None else ''}its reference table '{empty}'{brings}: "
            "without it, it would be wrong."
        )
    if contents and not told:
        listed = ", ".join(f"'{source}'" for source in contents)
        told.append(
            f"It does not wait for {listed}: it is computed with the newest content, and anew when that changes."
        )
    return told


def _place_of(feed: Feed) -> str:
    return f", whose files come to {feed.folder.path}"


def _standing_sources(project: Project, name: str, reports: dict[str, TableReport]) -> list[str]:
    """Tables on the way of its rows that take no part in updates: as long as that is so, it stays where they are."""
    told = {"paused": "is paused", "failed": "has failed"}
    return [
        f"'{report.name}', which its rows come through, {told.get(report.status, f'is {report.status}')}: it can get "
        f"no fresher before `freshtide resume {report.name}`."
        for report in (reports[above] for above in project.graph.ancestors(name))
        if report.status != "active"
    ]


def _last_decision(update: UpdateRow | None) -> list[str]:
    if update is None or update.decision is None:
        return []
    decision = update.decision
    others = ", ".join(f"{r['table']} ({r['benefit']:.3g})" for r in decision["runners_up"]) or "nobody"
    length = "" if update.seconds is None else f" and took {update.seconds:.2f}s"
    told = (
        f"Its last update was chosen by {decision['ordering']} with benefit {decision['benefit']:.3g} "
        f"ahead of {others}{length}."
    )
    return [told + (f" It failed: {update.error}" if update.error else "")]


def maintenance_story(table: Table, learnt: Learnt) -> list[str]:
    """How a view is brought up to date, and why so."""
    if not table.is_derived:
        return []
    if table.may_follow:
        last = f" The last one was {learnt.why}." if learnt.why else ""
        return [
            "Each update computes all of it or follows what has changed of its sources, whichever takes less time "
            f"(neither by append nor by partitions: {table.maintenance_reason}).{last}"
        ]
    ways = {
        Maintenance.APPEND: "Updates of it add rows",
        Maintenance.PARTITIONS: "Updates of it compute the buckets that are open",
        Maintenance.FULL: "Each update computes all of it",
        Maintenance.INCREMENTAL: "Updates of it follow what has changed of its sources",
        Maintenance.LATEST: "Updates of it compute the keys that have changed",
    }
    reason = f": {table.maintenance_reason}" if table.maintenance_reason else ""
    return [f"{ways[table.maintain]} (maintain = '{table.maintain}'{reason})."]


def _limiting_chain(project: Project, catalog: Catalog, name: str) -> tuple[str, ...]:
    safe = {row.name: row.safe for row in catalog.tables.all().values()}
    chain = [name]
    while (source := limiting_source(project.graph, chain[-1], safe)) is not None:
        chain.append(source)
    return tuple(chain)
