"""The one place that everything a project declares flows into, whatever language it was written in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from freshtide.core.errors import Origin, Problem
from freshtide.core.feeds import Feed
from freshtide.core.tables import FunctionQuery, Table
from freshtide.flows import FlowGraph
from freshtide.project.notation.names import name_fault
from freshtide.project.tables.properties import Properties
from freshtide.sql import ParsedQuery, TableKind


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """A table as written: its sources are names that nobody has looked up yet."""

    name: str
    kind: TableKind
    query: ParsedQuery | FunctionQuery
    properties: Properties = field(default_factory=Properties)
    origin: Origin | None = None


@dataclass(slots=True)
class Declarations:
    """Feeds, tables and flows by name, and what is wrong with the way they were written.

    Names do not tell upper from lower case, as in Spark, and feeds and tables share them. Of two with one
    name the first stays.
    """

    feeds: dict[str, Feed] = field(default_factory=dict)
    tables: dict[str, DeclaredTable] = field(default_factory=dict)
    flows: dict[str, FlowGraph] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    spoiled: set[str] = field(default_factory=set)
    """Names (lower case) whose declaration is wrong: what reads them is not to be blamed."""
    spoiled_flows: set[str] = field(default_factory=set)
    """The same for flows, which have names of their own."""

    made: dict[str, Table] = field(default_factory=dict)
    """The tables that flows make, by name in lower case; they follow from the flows once all are declared."""

    def add_feed(self, feed: Feed) -> None:
        if self._is_free(feed.name, "feed", feed.origin):
            self.feeds[feed.name.lower()] = feed

    def add_table(self, table: DeclaredTable) -> None:
        fault = name_fault(table.name)
        if fault is not None:
            self.problems.append(Problem(message=fault[0], origin=table.origin, way_out=fault[1]))
            self.spoiled.add(table.name.lower())
        elif self._is_free(table.name, table.kind, table.origin):
            self.tables[table.name.lower()] = table

    def add_flow(self, flow: FlowGraph) -> None:
        """Flows have names of their own: a flow may be called like the table that it writes."""
        first = self.flows.setdefault(flow.name.lower(), flow)
        if first is not flow:
            place = f" in {first.origin}" if first.origin else ""
            message = f"The flow '{flow.name}' has the name of the flow '{first.name}'{place}."
            self.problems.append(Problem(message=message, origin=flow.origin, way_out="Rename one of them."))

    def reject(self, problems: Iterable[Problem], *, names: Iterable[str] = ()) -> None:
        """Something could not be declared; `names` is what it would have been called."""
        self.problems.extend(problems)
        self.spoiled.update(name.lower() for name in names)

    def _is_free(self, name: str, kind: str, origin: Origin | None) -> bool:
        taken = self.feeds.get(name.lower()) or self.tables.get(name.lower())
        if taken is None:
            return True
        taken_kind = "feed" if isinstance(taken, Feed) else taken.kind
        place = f" in {taken.origin}" if taken.origin else ""
        case = "" if taken.name == name else ", and names do not tell upper from lower case"
        self.problems.append(
            Problem(
                message=f"The {kind} '{name}' has the name of the {taken_kind} '{taken.name}'{place}{case}.",
                origin=origin,
                way_out="Rename one of them.",
            )
        )
        return False
