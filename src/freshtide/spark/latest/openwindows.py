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

from freshtide.core.sides import WAITS
from freshtide.latest import StreamTuple
from freshtide.latest.windows import KeyStanding, Window, WindowGrid
from freshtide.spark.latest.rows import AHEAD, RowShape
from freshtide.spark.latest.waiting import MicroBatch
from freshtide.storage import aligned

_NUMBERS = ("reached", "waiting", "committed")
_TIMES = ("kept_from", "newest_time", "newest_within", "handed_out_to")
_STANDS = "__stands"
"""Whether a row tells how a key stands. All others are rows of the feed."""
_OUTSIDE = "__outside"
"""Where a row is that is not in the queue: in the window of this number, taken out and not processed, or in none."""
_NO_WINDOW = -(2**62)
_IN_QUEUE = _NO_WINDOW - 1
_AHEAD = "__ahead"
"""Whether a row is of a file that is read again, because the table is not done with it."""

_OURS = frozenset([*(f"__{name}" for name in (*_NUMBERS, *_TIMES)), _OUTSIDE, WAITS, _AHEAD, _STANDS])


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForWindows:
    """What waits for the windows of a table."""

    standings: Sequence[KeyStanding]
    outside: Sequence[tuple[StreamTuple, Window]] = ()
    """Tuples of windows that were taken out of the queue and not processed."""
    unplaced: Sequence[StreamTuple] = ()
    """Tuples that have found no room in the queue."""
    ahead: frozenset[int] = frozenset([AHEAD])
    """The tags of tuples that are counted with their files, later."""

    @property
    def waiting(self) -> int:
        """How many tuples of the queue have been in no window yet, of those that are counted."""
        return sum(self.waits(item, one) for one in self.standings for item in one.tuples)

    @property
    def served(self) -> int:
        """How many of them have been in windows, and are there for others."""
        counted = ((one, item) for one in self.standings for item in one.tuples if item.tag not in self.ahead)
        return sum(one.is_served(item) for one, item in counted)

    def waits(self, item: StreamTuple, standing: KeyStanding) -> bool:
        return item.tag not in self.ahead and not standing.is_served(item)

    @property
    def tuples(self) -> list[StreamTuple]:
        """All tuples that no file has, the oldest first."""
        found = {
            (item.key, item.time): item
            for items in ((item for item, _ in self.outside), *(one.tuples for one in self.standings), self.unplaced)
            for item in items
            if item.tag not in self.ahead
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
        told += [pa.field(_OUTSIDE, pa.int64()), *(pa.field(name, pa.bool_()) for name in (WAITS, _AHEAD, _STANDS))]
        self.schema = pa.schema([*feed_schema, *told])

    @staticmethod
    def of_feed(schema: pa.Schema) -> pa.Schema:
        """Those columns of such rows that are of the feed."""
        return pa.schema([field for field in schema if field.name not in _OURS])

    def rows(self, waiting: WaitingForWindows) -> pa.Table:
        """All that waits."""
        standings = waiting.standings
        places = [(item, _IN_QUEUE, waiting.waits(item, one)) for one in standings for item in one.tuples]
        places += [(item, self._grid.last_started(window.start), False) for item, window in waiting.outside]
        places += [(item, _NO_WINDOW, True) for item in waiting.unplaced]
        of_feed = self._shape.table(MicroBatch(tuples=[item for item, *_ in places]), self._feed_schema)
        flags: dict[str, list[Any]] = {
            _OUTSIDE: [place for _, place, _ in places],
            WAITS: [waits for *_, waits in places],
            _AHEAD: [item.tag in waiting.ahead for item, *_ in places],
            _STANDS: [False] * len(places),
        }
        keys = self._shape.key_columns([one.key for one in standings], self._feed_schema)
        told = {f"__{name}": [getattr(one, name) for one in standings] for name in (*_NUMBERS, *_TIMES)}
        return pa.concat_tables(
            (
                self._filled(of_feed, flags),
                self._filled(keys, {**told, _STANDS: [True] * len(standings)}),
            )
        )

    def waiting(self, rows: pa.Table) -> WaitingForWindows:
        """The same from rows. Those that earlier versions have put down lack some columns."""
        rows = aligned(rows, self.schema)
        is_standing = rows.column(_STANDS)
        of_feed, told = rows.filter(pc.invert(is_standing)), rows.filter(is_standing)
        stored = self._shape.rows(of_feed.select(self._feed_schema.names), self._time_column, file=None, arrived_at=0.0)
        places: dict[int, list[StreamTuple]] = defaultdict(list)
        for item, place, ahead in zip(
            stored.tuples(), *(of_feed.column(name).to_pylist() for name in (_OUTSIDE, _AHEAD)), strict=True
        ):
            places[place].append(item._replace(tag=AHEAD) if ahead else item)
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
