"""What differs between two versions of a project, and what each difference means for a run that is going on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from freshtide.core.definitions import fingerprints
from freshtide.core.durations import format_duration
from freshtide.core.tables import Table
from freshtide.project.assembly import Project
from freshtide.project.changes.changes import Change, Changes, PropertyChange, Subject, What
from freshtide.project.changes.content import content, digest_of

_DURATIONS = {"period", "target_lag", "lookback", "poll", "retention", "lateness", "backoff", "longest"}
# What follows from other properties, which are told.
_FOLLOWS = {"", "linear", "exact_time", "partitioned_as_fed", "row_for_row"}
# Of a table of the newest row per key these can change while rows wait for it in memory.
_FREE_IN_LATEST = {"priority", "target_lag", "period", "comment"}
_RUNS_WITH = {
    "spark": "Spark has been started with it",
    "storage": "the tables are open where they are",
    "catalog": "the catalog is open where it is",
    "update_memory": "rows wait in that memory",
    "min_free": "the disks are watched for it from the start of a run on",
}
_SAYS_SECRETS = {"spark", "catalog"}
_LATEST = "rows wait in memory for tables with an update key"


def changes_between(before: Project, after: Project) -> Changes:
    """What a warehouse that runs as `before` would have to change."""
    items = [*_settings(before, after), *_feeds(before, after), *_flows(before, after), *_tables(before, after)]
    return Changes(items=tuple(items), digest=digest_of(after))


def _settings(before: Project, after: Project) -> Iterator[Change]:
    old, new = content(before.settings), content(after.settings)
    for key in new:
        if old[key] != new[key]:
            named = "scheduler" if key == "policy" else key
            if key == "policy" or isinstance(new[key], dict):
                properties = _differences(old[key], new[key], tell=key not in _SAYS_SECRETS)
            else:
                properties = (_difference(key, old[key], new[key], tell=key not in _SAYS_SECRETS),)
            yield Change(
                subject=Subject.SETTING,
                name=named,
                what=What.CHANGED,
                properties=properties,
                restart=_RUNS_WITH.get(key),
            )


def _feeds(before: Project, after: Project) -> Iterator[Change]:
    old, new = content(before.feeds), content(after.feeds)
    for name, what in _names(old, new):
        feeds = [project.feeds[name] for project in (before, after) if name in project.feeds]
        restart = None
        if not all(feed.brings_files for feed in feeds):
            restart = "its rows come one by one, and those that are on their way are nowhere else"
        elif what is What.CHANGED and _is_read_by_latest(name, before, after):
            restart = _LATEST
        elif what is What.CHANGED and len({feed.meaning_of_times for feed in feeds}) > 1:
            restart = "its files are stamped anew, and its tables loaded anew, when a run starts"
        note = None
        if what is What.REMOVED:
            note = "its files stay where they are, and so does what has been loaded of them"
        properties = _differences(old[name], new[name]) if what is What.CHANGED else ()
        yield Change(subject=Subject.FEED, name=name, what=what, properties=properties, note=note, restart=restart)


def _is_read_by_latest(feed: str, *projects: Project) -> bool:
    return any(table.is_latest for project in projects for table in project.graph.for_feed(feed))


def _flows(before: Project, after: Project) -> Iterator[Change]:
    for name, what in _names(content(before.flows), content(after.flows)):
        yield Change(subject=Subject.FLOW, name=name, what=what)


def _tables(before: Project, after: Project) -> Iterator[Change]:
    old, new = content(dict(before.graph)), content(dict(after.graph))
    was, becomes = fingerprints(before.graph), fingerprints(after.graph)
    moved = _moved(before, after)
    for name, what in _names(old, new, also=_redefined(was, becomes, after)):
        tables = [project.graph[name] for project in (before, after) if name in project.graph]
        anew = what is What.CHANGED and tables[-1].is_derived and was[name] != becomes[name]
        properties = _differences(old[name], new[name]) if what is What.CHANGED else ()
        yield Change(
            subject=Subject.TABLE,
            name=name,
            what=what,
            properties=properties,
            anew=anew,
            note=_note(what, tables[-1], properties, anew=anew),
            restart=_restart_for(what, tables, old.get(name), new.get(name)) or moved.get(name),
        )


def _redefined(was: Mapping[str, str], becomes: Mapping[str, str], after: Project) -> set[str]:
    """Views that say what they said, of views that do not: they are computed anew with these."""
    return {name for name in becomes if name in was and was[name] != becomes[name] and after.graph[name].is_derived}


def _restart_for(what: What, tables: list[Table], old: Any, new: Any) -> str | None:
    if any(table.is_latest for table in tables):
        is_free = what is What.ADDED or (what is What.CHANGED and not _changed_keys(old, new) - _FREE_IN_LATEST)
        return None if is_free else _LATEST
    if what is What.CHANGED and _origin_of(tables[0]) != _origin_of(tables[1]):
        return f"what {_origin_of(tables[0])} becomes what {_origin_of(tables[1])}"
    if what is What.CHANGED and tables[0].time_column != tables[1].time_column:
        return "its files are open by the old time column"
    return None


def _origin_of(table: Table) -> str:
    if table.is_base:
        return "is loaded from files"
    return "is computed from tables" if table.is_derived else "a flow makes"


def _moved(before: Project, after: Project) -> dict[str, str]:
    """Tables that are updated together with others than before."""
    reason = "what is updated together is one update, which may be running"
    found = {}
    for name, table in after.graph.items():
        if name in before.graph and before.graph[name].update_group != table.update_group:
            found[name] = reason
    for group, names in after.graph.units.items():
        known = before.graph.units.get(group)
        if known is not None and set(known) != set(names):
            found |= dict.fromkeys(set(known) ^ set(names), reason)
    return found


def _note(what: What, table: Table, properties: tuple[PropertyChange, ...], *, anew: bool) -> str | None:
    if what is not What.REMOVED and table.made_by is not None:
        return f"it changes when the flow '{table.made_by}' runs"
    if what is What.REMOVED:
        return "its files stay as they are; nothing updates them any more"
    if what is What.ADDED and table.is_base:
        return f"it begins with the files that the feed '{table.feed}' has"
    if anew:
        return "it is computed anew from its sources"
    if table.is_base and any(found.name in ("query", "feed", "flow") for found in properties):
        return f"rows that are there stay as they are; `freshtide backfill {table.name}` computes them anew"
    return None


def _names(old: Mapping[str, Any], new: Mapping[str, Any], *, also: Collection[str] = ()) -> Iterator[tuple[str, What]]:
    """What is not as it was, in the order of the new version; what is gone comes last."""
    for name in new:
        if name not in old:
            yield name, What.ADDED
        elif old[name] != new[name] or name in also:
            yield name, What.CHANGED
    for name in old:
        if name not in new:
            yield name, What.REMOVED


def _changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    return {key for key in {**old, **new} if old.get(key) != new.get(key)}


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], *, tell: bool = True) -> tuple[PropertyChange, ...]:
    changed = _changed_keys(old, new)
    found = [key for key in {**new, **old} if key in changed]
    told = [key for key in found if key not in _FOLLOWS] or found
    return tuple(_difference(key, old.get(key), new.get(key), tell=tell) for key in told)


def _difference(key: str, before: Any, after: Any, *, tell: bool = True) -> PropertyChange:
    if not tell or key == "query" or not (_is_short(before) and _is_short(after)):
        return PropertyChange(name=key)
    return PropertyChange(name=key, before=_told(key, before), after=_told(key, after))


def _is_short(value: Any) -> bool:
    """Whether a value can be told in a word: nested settings cannot."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value) and len(str(value)) <= 60
    return not isinstance(value, dict) and len(str(value)) <= 60


def _told(key: str, value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, list):
        return ", ".join(value)
    if key in _DURATIONS and isinstance(value, int | float):
        return format_duration(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
