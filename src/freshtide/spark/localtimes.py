"""Local times of a feed's zone, made instants by Spark: by the rules of java.time, as `feeds.localtimes` says them."""

from __future__ import annotations

from freshtide.core.feeds import UTC_ZONE
from freshtide.spark.schemas import literal


def zone_options(zone: str) -> dict[str, str]:
    """What tells Spark's parsers which zone a text is of that says none."""
    return {} if zone == UTC_ZONE else {"timeZone": zone}


def instant_at(zone: str, local: str) -> str:
    """A time that Spark takes for one of UTC, and that clocks of the zone have shown."""
    return f"to_utc_timestamp({local}, {literal(zone)})"


def instant_in(zone: str, text: str, *, pattern: str | None = None) -> str:
    """A text as an instant, as Spark casts it or by a pattern; null where it is none.

    By way of JSON: a cast has the zone of its session, and only the parsers of files can be told another one.
    """
    options = zone_options(zone) | ({} if pattern is None else {"timestampFormat": pattern})
    pairs = ", ".join(literal(word) for pair in options.items() for word in pair)
    return f"from_json(to_json(named_struct('at', {text})), 'at timestamp', map({pairs})).at"
