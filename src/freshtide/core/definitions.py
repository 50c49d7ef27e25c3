"""Fingerprints of table definitions: equal fingerprints, equal content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from freshtide.core.latest import LatestSemantics
from freshtide.core.tables import FunctionQuery, Query, Table

# A text or name in quotes, or else what merely parts two words: blanks and comments.
_QUOTED_OR_BETWEEN = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)|(?:--[^\n]*|/\*.*?\*/|\s)+""", re.DOTALL
)


def fingerprints(tables: Mapping[str, Table]) -> dict[str, str]:
    """A fingerprint per table, in an order where sources come first.

    A derived table's covers the derived tables below it, since a change of theirs changes its content. A base
    table's content comes from files and stays when dependents or feeds change, so it covers its own query only. What a
    flow makes stays until the flow runs again.
    """
    found: dict[str, str] = {}
    for name, table in tables.items():
        found[name] = _fingerprint(table, [found[source] for source in table.sources if tables[source].is_derived])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """How a view was defined when its rows were computed."""

    definition: str
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRows:
    """Rows that a view was given by a former query, and that say what the query of now gives."""

    definition: str
    """By which they are known."""
    columns: tuple[str, ...] = ()
    """What the columns of now are of those that they have, in SQL; none: they are the same."""


def same_in(former: Mapping[str, FormerRows], name: str) -> str | None:
    """The definition that the rows of a view are known by if they are what its query gives now."""
    rows = former.get(name)
    return None if rows is None or rows.columns else rows.definition


def known_by(
    tables: Mapping[str, Table],
    former: Mapping[str, Former],
    compare: Callable[[Table, Query], tuple[str, ...] | None],
) -> dict[str, FormerRows]:
    """Of views whose rows can be told by those that they hold, though they or their sources are written differently.

    `compare` tells what the columns of a table are of those that another query gives, whatever its sources hold; none:
    both are the same, None: they have other rows.
    """
    found = fingerprints(tables)
    standing: dict[str, str] = {}
    known: dict[str, FormerRows] = {}
    for name, table in tables.items():
        standing[name] = found[name]
        was = former.get(name)
        if not table.is_derived or was is None or was.definition == found[name]:
            continue
        below = [standing[source] for source in table.sources if tables[source].is_derived]
        # All else is what it was: nothing but the words can make a difference.
        if _fingerprint(replace(table, query=was.query), below) != was.definition:
            continue
        columns = () if words_of(table.query) == words_of(was.query) else compare(table, was.query)
        if columns is not None:
            known[name] = FormerRows(definition=was.definition, columns=columns)
        if columns == ():
            standing[name] = was.definition
    return known


def _fingerprint(table: Table, below: Sequence[str]) -> str:
    """`below` are those of the derived tables that it reads."""
    grain = None if table.grain is None else [table.grain.width, table.grain.unit]
    parts: list[object] = [words_of(table.query), table.time_column, str(table.emit), grain, list(table.partition_by)]
    if table.latest is not None:
        parts += _superseding(table.latest)
    if table.reference_sources:
        # Read as they are, they are something else than what they are up to a time.
        parts.append(sorted(table.reference_sources))
    return hashlib.sha256(json.dumps([parts, list(below)]).encode()).hexdigest()[:16]


def words_of(query: Query) -> str:
    """What a query says, however it is laid out and commented."""
    return _function(query) if isinstance(query, FunctionQuery) else _without_layout(query.text)


def _superseding(updates: LatestSemantics) -> list[object]:
    """What of the update semantics the content hangs on; the order of keys only says which one is served first."""
    windows = updates.windows
    return [list(updates.key), None if windows is None else [windows.size, windows.slide, str(windows.semantics)]]


def _function(query: FunctionQuery) -> str:
    """The function and what is passed to it, which the decorator says and not the function."""
    return json.dumps([query.fingerprint, list(query.parameters.items())])


def _without_layout(text: str) -> str:
    return _QUOTED_OR_BETWEEN.sub(lambda found: found[1] or " ", text).strip()
