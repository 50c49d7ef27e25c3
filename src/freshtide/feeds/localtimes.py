"""Local times: what a clock on the wall of a time zone shows, as instants.

The rule is that of `datetime` with fold=0, of java.time and so of Spark. A time of the hour that comes twice is the
first of the two. One that is left out, when clocks are put forward, is as long after the change as it claims to be:
half past two of a night without an hour from two to three is half past three.
"""

from __future__ import annotations

import functools
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from freshtide.core.errors import suggestion
from freshtide.core.feeds import UTC_ZONE
from freshtide.core.instants import datetime_of, micros_of
from freshtide.feeds.errors import TimeZoneError

_EPOCH = datetime(1970, 1, 1)
# No clock was ever put forward by more: the Philippines, Samoa and others have left out a day.
_LONGEST_GAP = timedelta(days=1)
# Of these each machine has its own, or none.
_NOT_A_PLACE = frozenset({"Factory", "localtime", "posixrules"})


@dataclass(frozen=True, slots=True)
class LocalTimes:
    """The local times of a zone."""

    zone: tzinfo

    def micros(self, local: int) -> int:
        """The instant of a local time, both in whole microseconds; ValueError for times that no table can hold."""
        try:
            return micros_of((_EPOCH + timedelta(microseconds=local)).replace(tzinfo=self.zone))
        except OverflowError as error:
            raise ValueError(f"{local} microseconds lie outside of the years 1 to 9999") from error

    def may_follow_later_ones(self, instant: float) -> bool:
        """Whether a local time that looks earlier than that of this instant may be of a later one.

        Just after clocks were put forward those that were left out are: 2:59 becomes 3:59, and 3:00 is 3:00.
        """
        try:
            now = datetime_of(instant)
            return self._offset(now) != self._offset(now - _LONGEST_GAP)
        except (OverflowError, ValueError):
            return True

    def _offset(self, moment: datetime) -> timedelta | None:
        return moment.astimezone(self.zone).utcoffset()


@functools.lru_cache(maxsize=256)
def local_times(zone: str) -> LocalTimes | None:
    """Those of a zone by its name; None for UTC, where there is nothing to convert. A TimeZoneError if it is none."""
    if zone == UTC_ZONE:
        return None
    return LocalTimes(_zone(zone))


def zone_of(name: str) -> tzinfo:
    """What `datetime` takes for a zone."""
    found = local_times(name)
    return UTC if found is None else found.zone


def _zone(name: str) -> tzinfo:
    known = zoneinfo.available_timezones() - _NOT_A_PLACE
    if not known:
        raise TimeZoneError(
            f"The time zone '{name}' cannot be looked up: this machine has no time zone database.",
            way_out="Install it: the package tzdata of the system, or `pip install tzdata`.",
        )
    if name in known:
        return zoneinfo.ZoneInfo(name)
    by_lower_case = {each.lower(): each for each in known}
    by_city = {each.rpartition("/")[2].lower(): each for each in sorted(known, reverse=True)}
    words = name.strip().lower().replace(" ", "_")
    meant = by_lower_case.get(words) or by_city.get(words)
    hint = f"Did you mean '{meant}'?" if meant else suggestion(name, known)
    raise TimeZoneError(
        f"'{name}' is not a time zone.",
        way_out=f"{hint} Write a name like Europe/Berlin, or for a clock that is never changed one like Etc/GMT-2, "
        "which is two hours ahead of UTC.",
    )
