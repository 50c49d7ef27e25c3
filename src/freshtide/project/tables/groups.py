"""Update groups: whether the tables that are declared together can be updated together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from freshtide.core.cuts import Cuts
from freshtide.core.errors import Problem
from freshtide.core.feeds import Feed
from freshtide.core.tables import Table


def group_problems(tables: Mapping[str, Table], feeds: Iterable[Feed]) -> list[Problem]:
    """Everything that is wrong with the groups of a project; each member is held against the first one."""
    groups: dict[str, list[Table]] = {}
    for table in tables.values():
        if table.update_group is not None:
            groups.setdefault(table.update_group, []).append(table)
    taken = {table.name.lower(): f"the table '{table.name}'" for table in tables.values()}
    taken |= {feed.name.lower(): f"the feed '{feed.name}'" for feed in feeds}
    problems = []
    for group, members in groups.items():
        if group in taken:
            message = f"The update group '{group}' has the name of {taken[group]}."
            problems.append(Problem(message=message, origin=members[0].origin, way_out="Rename one of them."))
        for other in members[1:]:
            for reason in _unlike(members[0], other, Cuts(tables)):
                problems.append(
                    Problem(
                        message=f"'{other.name}' cannot be in the update group '{group}' with '{members[0].name}': "
                        f"{reason}.",
                        origin=other.origin,
                        way_out="Take one of them out of the group.",
                    )
                )
    return problems


def _unlike(first: Table, other: Table, cuts: Cuts) -> Iterator[str]:
    """Why the two cannot be updated by one update, the first reason only."""
    if first.feed != other.feed:
        yield "only tables of the same feed, or views of the same sources, read the same rows"
    elif set(first.sources) != set(other.sources):
        yield f"it reads {_listed(other)}, and that {_listed(first)}"
    elif first.is_reference != other.is_reference:
        yield "one of them is a reference table and the other is not"
    elif not first.is_base and not cuts.move_alike(first.name, other.name):
        yield "their buckets do not close at the same moments (emit, grain and lookback must be the same)"


def _listed(table: Table) -> str:
    return ", ".join(f"'{source}'" for source in table.sources)
