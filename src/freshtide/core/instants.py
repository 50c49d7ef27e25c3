"""Instants: float seconds since the epoch (UTC) for arithmetic, whole microseconds where data is cut.

Rows carry microseconds, so a cut must be exact to the microsecond: adding a tick to a float that
is almost a full hour could land on either side of it. `micros` is the one way across.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from freshtide.core.errors import TimestampError

MICROS_PER_SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) + 1


def micros(seconds: float) -> int:
    """Whole microseconds of an instant in float seconds."""
    return round(seconds * MICROS_PER_SECOND)


def seconds(whole_micros: int) -> float:
    """Float seconds of an instant in whole microseconds."""
    return whole_micros / MICROS_PER_SECOND


def datetime_of(instant: float) -> datetime:
    """The UTC datetime of an instant in float seconds, exact to the microsecond from 1684 to 2255."""
    at = micros(instant)
    # Floats are 30 microseconds apart there: the last moment of all has become one too many.
    return datetime_at(at - 1 if at == _END else at)


def datetime_at(whole_micros: int) -> datetime:
    """The UTC datetime of an instant in whole microseconds, exact in any year."""
    return _EPOCH + timedelta(microseconds=whole_micros)


def micros_of(moment: datetime) -> int:
    """Whole microseconds of a datetime; one without a zone is taken as UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def parse_instant(text: str, *, zone: tzinfo = UTC) -> float:
    """Float seconds of an ISO 8601 timestamp; one that says no zone is of this one."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return seconds(micros_of(moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)))
    except ValueError as error:
        raise TimestampError(f"'{text}' is not a timestamp.", way_out="Write it like 2026-05-01T12:00:00Z.") from error


def format_instant(instant: float) -> str:
    """ISO 8601 with as many decimals as the instant needs: `2026-05-01T12:00:00Z`."""
    moment = datetime_of(instant)
    precision = "microseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
