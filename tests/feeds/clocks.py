"""What clocks on walls have shown, found by looking at them: the oracle of tests about local times.

The rule is not asked of any library. The instants of a local time are those at which the clock of the zone shows it:
of several the first counts. If there is none, the clock has jumped over it, and it is as long after the jump as it
claims to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_FAR = timedelta(hours=26)


def shown(instant: datetime, zone: str) -> datetime:
    """What the clock shows at an instant: the direction in which nothing is in doubt."""
    return instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)


def instant_of(local: datetime, zone: str) -> datetime:
    """The instant that a local time stands for."""
    utc = local.replace(tzinfo=UTC)
    # A clock that was changed lately was set to one of these before or after.
    offsets = {
        shown(moment, zone) - moment.replace(tzinfo=None)
        for moment in (utc - _FAR, utc - _FAR / 2, utc, utc + _FAR / 2, utc + _FAR)
    }
    shows_it = sorted(utc - offset for offset in offsets if shown(utc - offset, zone) == local)
    if shows_it:
        return shows_it[0]
    before = shown(utc - _FAR, zone) - (utc - _FAR).replace(tzinfo=None)
    return utc - before


def changes(zone: str, first: int, last: int) -> Iterator[datetime]:
    """The instants at which the clock is changed in these years."""
    moment = datetime(first, 1, 1, tzinfo=UTC)
    while moment.year <= last:
        following = moment + timedelta(days=3)
        if _offset(moment, zone) != _offset(following, zone):
            yield _change(moment, following, zone)
        moment = following


def _change(low: datetime, high: datetime, zone: str) -> datetime:
    offset = _offset(low, zone)
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        low, high = (middle, high) if _offset(middle, zone) == offset else (low, middle)
    return high


def _offset(moment: datetime, zone: str) -> timedelta:
    return shown(moment, zone) - moment.replace(tzinfo=None)
