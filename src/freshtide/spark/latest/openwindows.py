"""The windows of a table that are not served yet, as rows: those of their keys, and how each key stands.

Put down beside the table, with the update that is done with the files they came from, they need not be read again from
these files, however long a window stays open. A queue that takes them up goes on as it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.latest import StreamTuple
from freshtide.latest.windows import KeyStanding, Window, WindowGrid
from freshtide.spark.latest.rows import RowShape
from freshtide.spark.latest.waiting import MicroBatch
from freshtide.storage import aligned

_NUMBERS = ("reached", "waiting", "committed")
_TIMES = ("kept_from", "newest_time", "newest_within")
_STANDS = "__stands"
"""Whether a row tells how a key stands. All others are rows of the feed."""
_OUTSIDE = "__outside"
"""Where a row is that is not in the queue: in the window of this number, taken out and not processed, or in none."""
_NO_WINDOW = -(2**62)
_IN_QUEUE = _NO_WINDOW - 1

_OURS = frozenset([*(f"__{name}" for name in (*_NUMBERS, *_TIMES)), _OUTSIDE, _STANDS])


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForWindows:
    """What waits for the windows of a table."""

    standings: Sequence[KeyStanding]
    outside: Sequence[tuple[StreamTuple, Window]] = ()
    """Tuples of windows that were taken out of the queue and not processed."""
    unplaced: Sequence[StreamTuple] = ()
    """Tuples that have found no room in the queue."""

    @property
    def tuples(self) -> list[StreamTuple]:
        """All tuples, the oldest first."""
        found = {
            (item.key, item.time): item
            for items in ((item for item, _ in self.outside), *(one.tuples for one in self.standings), self.unplaced)
            for item in items
        }
        return sorted(found.values(), key=lambda item: item.time)


class OpenWindows:
    """Turns what waits for the windows of a table into rows, and back."""

    def __init__(self, shape: RowShape, feed_schema: pa.Schema, *, time_column: str, grid: WindowGrid) -> None:
        self._shape = shape
        self._feed_schema = feed_schema
        self._time_column = time_column
        self._grid = grid
        told = [pa.field(f"__{name}", pa.int64()) for name in _NUMBERS]
        told += [pa.field(f"__{name}", pa.float64()) for name in _TIMES]
        self.schema = pa.schema([*feed_schema, *told, pa.field(_OUTSIDE, pa.int64()), pa.field(_STANDS, pa.bool_())])

    @staticmethod
    def of_feed(schema: pa.Schema) -> pa.Schema:
        """Those columns of such rows that are of the feed."""
        return pa.schema([field for field in schema if field.name not in _OURS])

    def rows(self, waiting: WaitingForWindows) -> pa.Table:
        """All that waits."""
        standings = waiting.standings
        places = [(item, _IN_QUEUE) for one in standings for item in one.tuples]
        places += [(item, self._grid.last_started(window.start)) for item, window in waiting.outside]
        places += [(item, _NO_WINDOW) for item in waiting.unplaced]
        of_feed = self._shape.table(MicroBatch(tuples=[item for item, _ in places]), self._feed_schema)
        keys = self._shape.key_columns([one.key for one in standings], self._feed_schema)
        told = {f"__{name}": [getattr(one, name) for one in standings] for name in (*_NUMBERS, *_TIMES)}
        return pa.concat_tables(
            (
                self._filled(of_feed, {_OUTSIDE: [place for _, place in places], _STANDS: [False] * len(places)}),
                self._filled(keys, {**told, _STANDS: [True] * len(standings)}),
            )
        )

    def waiting(self, rows: pa.Table) -> WaitingForWindows:
        """The same from rows."""
        is_standing = rows.column(_STANDS)
        of_feed, told = rows.filter(pc.invert(is_standing)), rows.filter(is_standing)
        stored = self._shape.rows(of_feed.select(self._feed_schema.names), self._time_column, file=None, arrived_at=0.0)
        places: dict[int, list[StreamTuple]] = defaultdict(list)
        for item, place in zip(stored.tuples(), of_feed.column(_OUTSIDE).to_pylist(), strict=True):
            places[place].append(item)
        in_queue, unplaced = places.pop(_IN_QUEUE, []), places.pop(_NO_WINDOW, [])
        return WaitingForWindows(
            standings=list(self._standings(told, in_queue)),
            outside=[(item, self._grid.window(place)) for place, items in places.items() for item in items],
            unplaced=unplaced,
        )

    def _standings(self, told: pa.Table, tuples: Sequence[StreamTuple]) -> Iterator[KeyStanding]:
        of_key: dict[Hashable, list[StreamTuple]] = defaultdict(list)
        for item in sorted(tuples, key=lambda item: item.time):
            of_key[item.key].append(item)
        columns = [told.column(f"__{name}").to_pylist() for name in (*_NUMBERS, *_TIMES)]
        for key, *values in zip(self._shape.keys(told), *columns, strict=True):
            said = dict(zip((*_NUMBERS, *_TIMES), values, strict=True))
            yield KeyStanding(key=key, tuples=tuple(of_key[key]), **said)

    def _filled(self, known: pa.Table, more: Mapping[str, Sequence[Any]]) -> pa.Table:
        """A table of all columns; those that are not given are empty."""
        for name, values in more.items():
            known = known.append_column(self.schema.field(name), pa.array(values, self.schema.field(name).type))
        return aligned(known, self.schema)
