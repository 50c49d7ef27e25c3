"""What a view holds of what its next refresh would compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freshtide.storage.records import BEGINNING
from freshtide.storage.snapshots import Snapshot

RevisedSince = Callable[[str, int], int | None]
"""From which time stamp on rows of a table have been revised by updates after a number."""


def kept_upto(
    current: Snapshot | None,
    *,
    definition: str,
    former: str | None = None,
    sources: Iterable[str],
    revised_since: RevisedSince,
) -> int | None:
    """The cut up to which a view as it is has what its query gives over its sources as they are; None: nothing counts.

    That is its freshness, unless sources have changed behind its back. `former` is the definition of the same query in
    other words.
    """
    if current is None or current.freshness is None:
        return None
    if current.record is None or current.record.definition not in {definition, former}:
        return None
    seen = current.record.sources
    found = [revised_since(source, seen.get(source, 0)) for source in sources]
    earliest = min((revised for revised in found if revised is not None), default=None)
    if earliest is None or earliest > current.freshness:
        return current.freshness
    return None if earliest == BEGINNING else earliest - 1
