"""Cuts: up to where a table's rows are final, and how far an update can take it.

A derived table at freshness F holds what its query, expanded down to base tables, gives over the base
rows stamped up to F. Two questions follow, answered here for every shape of graph:

- `closed_before(table, cut)`: the first time stamp whose rows could still differ between the table as of
  `cut` and the table as of any later moment. Rows before it are final: dependents read them as stored, and
  the table's own next update leaves them alone. Rows from it on are open.
- `reach(table, cut)`: the freshness that an update to `cut` gives. It is the cut itself, except for views
  that emit closed buckets only: they move from one closing of a bucket to the next.

With a base table the rows up to the cut are final: `closed_before = cut + 1`. In an update table any row may be
superseded at any time, so nothing is final there: its past is gone. A row of a view stamped t, in
buckets of grain g and with lookback L, depends on source rows stamped in `[floor(t) - L, floor(t) + g + L)`,
so it is final once the sources are final up to there. Reference tables play no part in any of this: their content is
the same for all rows of a view, and where it changes all of the view is computed anew. All instants are whole
microseconds; None stands for "nothing is final".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.core.grains import INSTANT
from freshtide.core.instants import micros
from freshtide.core.maintenance import MODES
from freshtide.core.tables import Table


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cut arithmetic over the tables of one graph."""

    tables: Mapping[str, Table]

    def closed_before(self, name: str, cut: int) -> int | None:
        """Rows of the table stamped before this are the same as of `cut` and as of any later cut."""
        table = self.tables[name]
        if table.is_latest:
            return None
        if table.is_base:
            return cut + 1
        reach_back = MODES[table.maintain].open_for(table)
        if reach_back is None:
            return None
        closed = cut + 1
        for source in table.timed_sources:
            source_closed = self.closed_before(source, cut)
            if source_closed is None:
                return None
            closed = min(closed, source_closed)
        return (table.grain or INSTANT).floor(closed - reach_back)

    def reach(self, name: str, cut: int) -> int | None:
        """The freshness that an update to `cut` gives; None where no bucket has closed by then."""
        return self._closing(name, cut) if self.tables[name].emits_closed_buckets else cut

    def span_end(self, name: str, cut: int) -> int | None:
        """Where a view that is computed span by span can be cut, at or before a cut: between buckets, if it has any.

        None: no bucket has closed by then.
        """
        return self._closing(name, cut) if MODES[self.tables[name].maintain].has_open_buckets else cut

    def goes_by_spans(self, name: str) -> bool:
        """Whether a view can be computed for one span of time after another, each by itself."""
        table = self.tables[name]
        mode = MODES[table.maintain]
        if mode.only_appends:
            return all(self.appends_only(source) for source in table.timed_sources)
        return mode.has_open_buckets and table.time_column is not None and self.closed_before(name, 0) is not None

    def move_alike(self, first: str, second: str) -> bool:
        """Whether two tables of the same sources reach the same freshness at every cut."""
        one, other = self.tables[first], self.tables[second]
        if not one.emits_closed_buckets and not other.emits_closed_buckets:
            return True
        closings = [(t.emits_closed_buckets, t.grain or INSTANT, MODES[t.maintain].open_for(t)) for t in (one, other)]
        return closings[0] == closings[1]

    def reads_from(self, name: str, freshness: int) -> int | None:
        """From which time stamp on an update of a derived table that has this freshness reads its sources, at most.

        None: from the beginning.
        """
        table = self.tables[name]
        if not self.bounded(name):
            return None
        open_from = [self.closed_before(source, freshness) for source in table.timed_sources]
        if MODES[table.maintain].has_open_buckets:
            open_from.append(self.closed_before(name, freshness))
        known = [at for at in open_from if at is not None]
        return min(known) - self.lookback(name) if len(known) == len(open_from) else None

    def computes_whole(self, name: str) -> bool:
        """Whether each update of a view computes all of it, so that it takes as long wherever it is cut."""
        table = self.tables[name]
        if not table.is_derived or table.is_latest or MODES[table.maintain].follows_changes or self.goes_by_spans(name):
            return False
        return self.reads_from(name, 0) is None

    def appends_only(self, name: str) -> bool:
        """Whether rows, once in the table, stay as they are, and its past can be cut out by time stamp.

        The table as of `cut` is then its rows stamped before `closed_before(table, cut)`.
        """
        table = self.tables[name]
        if table.is_latest:
            return False
        if table.is_base or table.emits_closed_buckets:
            return True
        return MODES[table.maintain].only_appends and table.exact_time

    def lookback(self, name: str) -> int:
        """How far before its own rows a table's update must read its sources."""
        return micros(self.tables[name].lookback or 0.0)

    def bounded(self, name: str) -> bool:
        """Whether a row depends only on source rows within the lookback of its own bucket."""
        table = self.tables[name]
        return MODES[table.maintain].is_bounded(table)

    def _closing(self, name: str, cut: int) -> int | None:
        """The smallest cut at which all rows are final that are so at this one."""
        closed = self.closed_before(name, cut)
        return None if closed is None else self._first_cut_closing(name, closed)

    def _first_cut_closing(self, name: str, before: int) -> int:
        """The smallest cut at which every row stamped before `before` is final."""
        table = self.tables[name]
        if table.is_base:
            return before - 1
        wanted = (table.grain or INSTANT).ceil(before) + (MODES[table.maintain].open_for(table) or 0)
        return max(self._first_cut_closing(source, wanted) for source in table.timed_sources)
