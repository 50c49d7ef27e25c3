"""The tables that stand beside a base table, by the endings of their names."""

from __future__ import annotations

from freshtide.core.tables import Table

REJECTS, LATE, GONE, OPEN, STATE = "__rejects", "__late", "__gone", "__open", "__state"
RESERVED_ENDINGS = (REJECTS, LATE, GONE, OPEN, STATE)
WAITS = "__waits"
"""Tells, of what is put down for open windows, which rows have been in no window yet and are counted as waiting."""


def sides(table: Table) -> tuple[str, ...]:
    """The names of what an update of a base table may commit beside it, before it, under the same number."""
    if not table.is_latest:
        return f"{table.name}{REJECTS}", f"{table.name}{LATE}"
    return f"{table.name}{REJECTS}", gone_beside(table) if keys_can_go(table) else open_beside(table)


def state_beside(table: Table, place: int) -> str:
    """Where a view that is maintained from changes keeps what one of its operators has to know."""
    return f"{table.name}__{place}{STATE}"


def keys_can_go(table: Table) -> bool:
    """Whether the newest row of a key may be one that the table's query leaves out: then the key has no row."""
    return table.is_base and table.latest is not None and table.latest.windows is None


def open_beside(table: Table) -> str:
    """Where what waits for the windows of a table is, as far as the table is done with the files that it came from."""
    return f"{table.name}{OPEN}"


def gone_beside(table: Table) -> str:
    """Where the keys are that have gone."""
    return f"{table.name}{GONE}"
