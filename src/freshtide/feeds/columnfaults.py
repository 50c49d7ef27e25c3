"""What can be wrong with the columns that a file names itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from freshtide.core.feeds import Feed, SchemaChange

RETRY = "`freshtide feeds retry`"
"""What a user who has mended a file that was put aside runs."""


def fault_of_columns(feed: Feed, columns: tuple[str, ...]) -> str | None:
    """Of a file that has the same columns for all its rows."""
    if not all(name.strip() for name in columns):
        return f"The file has a column without a name. Mend the file, then {RETRY}."
    if misnamed := _misnamed(feed, columns):
        return _told(misnamed)
    if feed.time.column in feed.brought_names and feed.time.column not in columns:
        return (
            f"The file lacks the time column '{feed.time.column}' (it has {_listed(columns)}). "
            f"Mend the file, then {RETRY}."
        )
    return _differences(feed, columns, missing=[name for name in feed.brought_names if name not in columns])


def fault_of_keys(feed: Feed, keys: tuple[str, ...]) -> str | None:
    """Of a file in which each row names its values: any of them may be missing.

    Keys that no column is to be made of may be what they like.
    """
    if feed.on_schema_change is SchemaChange.EVOLVE and (misnamed := _misnamed(feed, keys)):
        return _told(misnamed)
    return _differences(feed, keys, missing=[])


def _differences(feed: Feed, columns: Sequence[str], *, missing: list[str]) -> str | None:
    if feed.on_schema_change is SchemaChange.EVOLVE:
        return None
    added = [name for name in columns if name not in feed.brought_names]
    differences = [f"adds {_listed(added)}"] * bool(added) + [f"lacks {_listed(missing)}"] * bool(missing)
    if not differences:
        return None
    return (
        f"The file has other columns than feed '{feed.name}' declares: it {' and '.join(differences)}. "
        f"Set `on_schema_change: evolve` or mend the file, then {RETRY}."
    )


def _misnamed(feed: Feed, columns: Sequence[str]) -> str | None:
    """What is wrong with names: Spark does not tell them apart by case. A key without a name makes no column."""
    named = Counter(name.lower() for name in columns if name.strip())
    doubled = [name for name, count in named.items() if count > 1]
    if doubled:
        return f"names columns twice: {_listed(doubled)}"
    if feed.time.expression is not None and feed.on_schema_change is SchemaChange.EVOLVE:
        computed = [name for name in columns if name.lower() == feed.time.known_column.lower()]
        if computed:
            return f"has a column '{computed[0]}', and feed '{feed.name}' computes that one ('time')"
    spelt = {name.lower(): name for name in feed.column_names}
    otherwise = [name for name in columns if spelt.get(name.lower(), name) != name]
    if otherwise and feed.on_schema_change is SchemaChange.EVOLVE:
        return f"spells {_listed(otherwise)} otherwise than feed '{feed.name}' does, and case alone makes no column"
    return None


def _told(misnamed: str) -> str:
    return f"The file {misnamed}. Mend the file, then {RETRY}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")
