"""Why a table is as stale as it is, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from freshtide.catalog import Catalog
from freshtide.core.durations import format_duration
from freshtide.core.events import DataArrived
from freshtide.core.instants import format_instant
from freshtide.observe.standing import beginning_of, reach_of, scheduler_from
from freshtide.observe.status import TableReport, limiting_source, warehouse_status
from freshtide.project import Project
from freshtide.scheduling import Candidate, Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Sentences, most important first, and the numbers behind them."""

    table: str
    sentences: tuple[str, ...]
    limited_by: tuple[str, ...]
    """The chain of sources that holds the table back, from the table down to a base table."""
    queue: tuple[dict[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "sentences": list(self.sentences),
            "limited_by": list(self.limited_by),
            "queue": list(self.queue),
        }


def explain(project: Project, catalog: Catalog, name: str, now: float) -> Explanation:
    """Look at the table, its sources and the queue."""
    status = warehouse_status(project, catalog, now)
    reports = {report.name: report for report in status.tables}
    report = reports[project.graph[name].name]
    scheduler = _scheduler_now(project, catalog, now)
    standing = [c for c in scheduler.standing(len(project.graph)) if reports[c.table].running_on is None]
    chain = _limiting_chain(project, catalog, name)
    sentences = [_how_stale(report), *_state(report, now)]
    if project.graph[name].is_base:
        sentences += _feed_story(project, catalog, report, now)
    else:
        sentences += _source_story(report, reports, chain)
    sentences += _queue_story(scheduler, report, standing)
    sentences += _last_decision(catalog, report)
    return Explanation(
        table=name,
        sentences=tuple(sentences),
        limited_by=chain,
        queue=tuple(
            {"table": c.table, "benefit": c.benefit, "delta": c.delta, "cost": c.cost, "waiting": now - c.released_at}
            for c in standing
        ),
    )


def _how_stale(report: TableReport) -> str:
    if report.staleness is None or report.freshness is None:
        return f"'{report.name}' has never been updated."
    told = (
        f"'{report.name}' is {format_duration(report.staleness)} stale: "
        f"it holds everything up to {format_instant(report.freshness)}."
    )
    if report.target_lag is None:
        return told + " It has no target lag."
    kept = "within" if report.within_target else "beyond"
    return f"{told} That is {kept} its target lag of {format_duration(report.target_lag)}."


def _state(report: TableReport, now: float) -> list[str]:
    if report.running_on is not None and report.running_since is not None:
        since = format_duration(now - report.running_since)
        return [f"It is being updated on track {report.running_on}, for {since} now."]
    if report.status == "failed":
        return [f"It has failed and waits for `freshtide resume {report.name}`: {report.reason}"]
    if report.status == "paused":
        return [f"It is paused: `freshtide resume {report.name}` lets it go on."]
    return []


def _feed_story(project: Project, catalog: Catalog, report: TableReport, now: float) -> list[str]:
    feed_name = project.graph[report.name].feed or ""
    feed = project.feeds[feed_name]
    if report.pending:
        oldest = min(file.arrived_at for file in catalog.files.pending(report.name))
        return [
            f"{report.pending} file{'s' if report.pending > 1 else ''} of '{feed_name}' wait to be loaded, "
            f"the oldest for {format_duration(now - oldest)}."
        ]
    latest = catalog.files.latest_timestamp(feed_name)
    if latest is None:
        return [f"No file has arrived in '{feed_name}' yet ({feed.path})."]
    every = f" It should bring one every {format_duration(feed.period)}." if feed.period else ""
    return [
        f"Everything that has arrived in '{feed_name}' is loaded; its newest file is stamped "
        f"{format_duration(max(0.0, now - latest))} ago.{every}"
    ]


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


def _queue_story(scheduler: Scheduler, report: TableReport, standing: list[Candidate]) -> list[str]:
    names = [candidate.table for candidate in standing]
    if report.name not in names:
        return []
    place = names.index(report.name)
    if place == 0:
        return [f"It is first in the queue: {scheduler.because(standing[0])}."]
    first = standing[0]
    return [
        f"It is number {place + 1} of {len(names)} in the queue. '{first.table}' goes first, because "
        f"{scheduler.because(first)}; for '{report.name}': {scheduler.because(standing[place])}."
    ]


def _last_decision(catalog: Catalog, report: TableReport) -> list[str]:
    recent = catalog.updates.recent(report.name, 1)
    if not recent or recent[0].decision is None:
        return []
    update, decision = recent[0], recent[0].decision
    others = ", ".join(f"{r['table']} ({r['benefit']:.3g})" for r in decision["runners_up"]) or "nobody"
    length = "" if update.seconds is None else f" and took {update.seconds:.2f}s"
    told = (
        f"Its last update was chosen by {decision['ordering']} with benefit {decision['benefit']:.3g} "
        f"ahead of {others}{length}."
    )
    return [told + (f" It failed: {update.error}" if update.error else "")]


def _scheduler_now(project: Project, catalog: Catalog, now: float) -> Scheduler:
    """The scheduler with the queue as it would have it now, and no track to start anything on."""
    scheduler = scheduler_from(replace(beginning_of(project, catalog), tracks=0), reach_of(project))
    waiting: list[tuple[float, DataArrived]] = []
    for table in project.graph.values():
        if table.is_base:
            for file in catalog.files.pending(table.name):
                # A file that names no time counts as the newest, as it does for the run.
                latest = catalog.files.latest_timestamp(file.feed) if file.timestamp is None else file.timestamp
                waiting.append((file.arrived_at, DataArrived(table=table.name, timestamp=latest or 0.0)))
    # In the order of arrival, each at its time: how long a table has been waiting decides under FIFO.
    for arrived_at, event in sorted(waiting, key=lambda pair: pair[0]):
        scheduler.handle([event], arrived_at)
    scheduler.handle([], now)
    return scheduler


def _limiting_chain(project: Project, catalog: Catalog, name: str) -> tuple[str, ...]:
    safe = {row.name: row.safe for row in catalog.tables.all().values()}
    chain = [name]
    while (source := limiting_source(project.graph, chain[-1], safe)) is not None:
        chain.append(source)
    return tuple(chain)
