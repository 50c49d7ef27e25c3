"""Taking up quarantined files again, after they or the declaration of their feed have been mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from freshtide.core.files import FeedFile, FileState
from freshtide.core.tables import Feed
from freshtide.feeds.admission import Ledger, retry
from freshtide.feeds.errors import NotQuarantinedError


class QuarantineLedger(Ledger, Protocol):
    """A ledger that can say what is quarantined."""

    def in_state(self, *states: FileState) -> list[FeedFile]: ...


def retry_everywhere(path: str, feeds: Mapping[str, Feed], ledger: QuarantineLedger, now: float) -> list[FeedFile]:
    """Judge a file again in every feed that has it quarantined; the verdicts are to be registered."""
    held = [file.feed for file in ledger.in_state(FileState.QUARANTINED) if file.path == path]
    waiting = [feeds[feed] for feed in dict.fromkeys(held) if feed in feeds]
    if not waiting:
        raise NotQuarantinedError(f"{path} is not quarantined.", way_out="`freshtide feeds` lists what is.")
    return [retry(feed, path, ledger, now) for feed in waiting]


def verdicts(files: Iterable[FeedFile]) -> str:
    """What has become of files, in words."""
    return " ".join(f"{file.path} is {file.state}." + (f" {file.reason}" if file.reason else "") for file in files)
