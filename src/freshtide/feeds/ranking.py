"""Many times as text, of which only the largest are worth parsing.

Times that are written alike, with a digit wherever the others have one, follow each other as text as they do in time.
Parsing them all to find the largest would take most of the time that a file's arrival costs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

_ANY_DIGIT = bytes.maketrans(b"123456789", b"000000000")
# The shapes, with 0 for any digit, for which this is certain. Offsets count only if they are the same.
_SORTABLE = re.compile(rb"0000-00-00[T ]00:00(?::00(?:\.0+)?)?(?:Z|(?P<offset>[+-]00:00))?")
_OFFSET_LENGTH = len("+00:00")


def ranked_iso_times(fields: Iterable[bytes]) -> Iterator[Iterator[bytes]]:
    """The fields in groups; the first in a group that is a time is the largest time in the group."""
    by_shape: dict[bytes, list[bytes]] = defaultdict(list)
    for field in fields:
        by_shape[field.translate(_ANY_DIGIT)].append(field)
    for shape, alike in by_shape.items():
        sortable = _SORTABLE.fullmatch(shape)
        if sortable is None:
            yield from (iter((field,)) for field in alike)
        elif sortable["offset"]:
            yield from (_largest_first(group) for group in _by_offset(alike))
        else:
            yield _largest_first(alike)


def _by_offset(fields: list[bytes]) -> Iterable[list[bytes]]:
    groups: dict[bytes, list[bytes]] = defaultdict(list)
    for field in fields:
        groups[field[-_OFFSET_LENGTH:]].append(field)
    return groups.values()


def _largest_first(fields: list[bytes]) -> Iterator[bytes]:
    largest = max(fields)
    yield largest
    # Hardly ever asked for: only if the largest looks like a time and is none, as in a 13th month.
    yield from sorted((field for field in fields if field != largest), reverse=True)
