"""What users can say about files that are not loaded as they are: take them up again, without them, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Feed
from freshtide.feeds.admission import PUT_ASIDE, Ledger, accept, judge_again, retry
from freshtide.feeds.errors import NotQuarantinedError
from freshtide.world import Disk

CHANGED = (ArrivalState.REFUSED, ArrivalState.QUARANTINED)
"""States of files of which other content may lie there than was registered."""
_SKIPPED = "It was left out by hand. `freshtide feeds retry` takes it up again."


class QuarantineLedger(Ledger, Protocol):
    """A ledger that can say which files are in a state."""

    def in_state(self, *states: ArrivalState) -> list[Arrival]: ...

    def orphaned_duplicates(self) -> list[Arrival]: ...


def retry_everywhere(
    path: str, feeds: Mapping[str, Feed], ledger: QuarantineLedger, now: float, *, disk: Disk | None = None
) -> list[Arrival]:
    """Judge a file again in every feed that has put it aside; the verdicts are to be registered."""
    return _everywhere(partial(retry, disk=disk), path, states=PUT_ASIDE, feeds=feeds, ledger=ledger, now=now)


def accept_everywhere(
    path: str, feeds: Mapping[str, Feed], ledger: QuarantineLedger, now: float, *, disk: Disk | None = None
) -> list[Arrival]:
    """Take a file as it is now in every feed that has refused that; the verdicts are to be registered."""
    return _everywhere(partial(accept, disk=disk), path, states=CHANGED, feeds=feeds, ledger=ledger, now=now)


def skip_everywhere(path: str, ledger: QuarantineLedger) -> list[Arrival]:
    """The records of a file that is away, as they are to be if nobody shall wait for it any longer."""
    away = [file for file in ledger.in_state(ArrivalState.AWAY) if file.position == path]
    if not away:
        raise NotQuarantinedError(f"No table waits for {path}.", way_out="`freshtide feeds` lists what is away.")
    return [replace(file, state=ArrivalState.SKIPPED, reason=_SKIPPED) for file in away]


def released_duplicates(
    feeds: Mapping[str, Feed], ledger: QuarantineLedger, now: float, *, disk: Disk | None = None
) -> list[Arrival]:
    """Files that were left out because of others that do not stand for their content any more; to be registered.

    One that is not there as it was is left alone: nobody ever said that it would be needed.
    """
    released = []
    for file in ledger.orphaned_duplicates():
        if file.feed in feeds:
            with suppress(FreshtideError, OSError):
                again = judge_again(feeds[file.feed], file.position, ledger, now, disk=disk)
                if again.digest == file.digest:
                    released.append(again)
    return released


def verdicts(files: Iterable[Arrival]) -> str:
    """What has become of files, in words."""
    return " ".join(f"{file.position} is {file.state}." + (f" {file.reason}" if file.reason else "") for file in files)


def _everywhere(
    judge: Callable[[Feed, str, Ledger, float], Arrival],
    path: str,
    *,
    states: tuple[ArrivalState, ...],
    feeds: Mapping[str, Feed],
    ledger: QuarantineLedger,
    now: float,
) -> list[Arrival]:
    held = [file.feed for file in ledger.in_state(*states) if file.position == path]
    waiting = [feeds[feed] for feed in dict.fromkeys(held) if feed in feeds]
    if not waiting:
        raise NotQuarantinedError(f"{path} is not {' or '.join(states)}.", way_out="`freshtide feeds` lists what is.")
    return [judge(feed, path, ledger, now) for feed in waiting]
