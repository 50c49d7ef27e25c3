"""Which files can have rows of some keys, by the bounds that their log tells of whole numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.spark.incremental.operators import Keys
from freshtide.spark.incremental.plans import column
from freshtide.storage import DataFile

_KEPT = 4_096


def may_have(file: DataFile, keys: Keys) -> bool:
    """Whether rows of these keys may be in the file, whose columns are called by their places."""
    return may_have_named(file, [column(place) for place in keys.places], keys.values)


def may_have_named(file: DataFile, names: Sequence[str], wanted: pa.Table) -> bool:
    """The same where the columns of a file have names of their own; those of `wanted` are in their order."""
    if not file.stats:
        return True
    for at, name in enumerate(names):
        values = wanted.column(at)
        if not pa.types.is_integer(values.type) or values.null_count:
            continue
        bounds = _bounds(file.stats, name)
        if bounds is None:
            continue
        low, high = bounds
        if pc.max(values).as_py() < low or pc.min(values).as_py() > high:
            return False
    return True


@lru_cache(maxsize=_KEPT)
def _bounds(stats: str, name: str) -> tuple[int, int] | None:
    told = json.loads(stats)
    low, high = (told.get(part, {}).get(name) for part in ("minValues", "maxValues"))
    return (low, high) if isinstance(low, int) and isinstance(high, int) else None
