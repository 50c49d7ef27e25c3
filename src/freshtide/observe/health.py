"""How healthy every feed is at a moment (Leontyev et al. 2010, Definition 2), and its outages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from freshtide.catalog import Catalog
from freshtide.core.durations import format_duration
from freshtide.core.health import Ailment, ArrivalTimes, Outage, health_at
from freshtide.core.instants import format_instant
from freshtide.project import Project
from freshtide.runs import FILES_LOOKED_AT, FeedRhythm, rhythm_from


class HealthState(StrEnum):
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    OUTAGE = "outage"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedHealth:
    """Whether a feed delivers as it should, why not, and what it was like before."""

    feed: str
    rhythm: FeedRhythm | None
    """None where its period is neither declared nor can be learnt."""
    healthy: bool | None
    """None where that cannot be told."""
    ailment: Ailment | None = None
    reason: str | None = None
    """Why it is not healthy, or why nobody can tell; a part of a sentence."""
    outage: Outage | None = None
    """The one that goes on."""
    last_outage: Outage | None = None
    """The newest that is over."""

    @property
    def state(self) -> HealthState:
        if self.outage is not None:
            return HealthState.OUTAGE
        return {True: HealthState.HEALTHY, False: HealthState.UNHEALTHY, None: HealthState.UNKNOWN}[self.healthy]

    @property
    def sentence(self) -> str | None:
        """What is wrong with the feed, None where nothing is or nobody can tell."""
        if self.healthy is not False:
            return None
        state = "in an outage" if self.outage is not None else "not healthy"
        return f"Feed '{self.feed}' is {state}: {self.reason}."

    def as_json(self) -> dict[str, Any]:
        return {
            "state": str(self.state),
            "healthy": self.healthy,
            "ailment": None if self.ailment is None else str(self.ailment),
            "reason": self.reason,
            "rhythm": None if self.rhythm is None else self.rhythm.as_json(),
            "outage": outage_json(self.outage),
            "last_outage": outage_json(self.last_outage),
        }


def feed_healths(
    project: Project, catalog: Catalog, now: float, *, run_going_on: bool = True, feeds: Iterable[str] | None = None
) -> dict[str, FeedHealth]:
    """The health of all feeds, or of some.

    Without a run going on nobody knows: files may lie there that no poll has found. What the catalog has as an outage
    that goes on was then left behind by a run that was killed.
    """
    going_on = catalog.outages.going_on() if run_going_on else {}
    over = catalog.outages.last_ended()
    found = {}
    for name in project.feeds if feeds is None else feeds:
        arrivals = catalog.arrivals.times(name, FILES_LOOKED_AT)
        told = FeedHealth(
            feed=name,
            rhythm=rhythm_from(project.feeds[name], arrivals, poll=project.settings.poll),
            healthy=None,
            outage=going_on.get(name),
            last_outage=over.get(name),
        )
        if not project.feeds[name].brings_files:
            found[name] = replace(told, reason="it brings single rows, in no rhythm")
            continue
        found[name] = _judged(told, arrivals, now, run_going_on=run_going_on)
    return found


def outage_json(outage: Outage | None) -> dict[str, Any] | None:
    if outage is None:
        return None
    return {
        "silent_since": format_instant(outage.silent_since),
        "began_at": format_instant(outage.began_at),
        "ended_at": None if outage.ended_at is None else format_instant(outage.ended_at),
        "returned": outage.returned,
    }


def outage_story(feed: str, outage: Outage, now: float) -> str:
    """An outage in a sentence, as it begins, goes on or is over."""
    long, since = format_duration(outage.length(now)), format_instant(round(outage.silent_since))
    if outage.ended_at is None:
        return f"Feed '{feed}' is in an outage: no file has come for {long}, since {since}."
    ended = "a file came" if outage.returned else "it was watched no longer"
    until = format_instant(round(outage.ended_at))
    return f"Feed '{feed}' had an outage from {since} to {until} ({long}); then {ended}."


def _judged(told: FeedHealth, arrivals: Sequence[ArrivalTimes], now: float, *, run_going_on: bool) -> FeedHealth:
    if not run_going_on:
        return replace(told, reason="no run is going on, so nobody watches it")
    if told.rhythm is None:
        reason = "it declares no period, and too few files have come, or too irregularly, to learn one"
        return replace(told, reason=reason)
    verdict = health_at(told.rhythm.rhythm, arrivals, now)
    if not arrivals and told.outage is None:
        # By the definition it is unhealthy. But it may just have been set up, and has not been watched for long.
        return replace(told, reason=verdict.reason)
    return replace(told, healthy=verdict.healthy, ailment=verdict.ailment, reason=verdict.reason)
