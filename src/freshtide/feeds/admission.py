"""The verdict on a settled file: loaded, skipped, refused or kept aside, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Protocol

from freshtide.core.arrivals import LOADABLE, Arrival, ArrivalState
from freshtide.core.feeds import Duplicates, Feed
from freshtide.feeds.columnfaults import RETRY
from freshtide.feeds.errors import (
    NotQuarantinedError,
    OtherContentError,
    UnreadableFileError,
    VanishedFileError,
    unread,
)
from freshtide.feeds.formats import format_of
from freshtide.feeds.globs import OwnFolders, is_punctuation
from freshtide.feeds.inspection import Inspection, inspect
from freshtide.feeds.watching import SettledFile
from freshtide.world import Disk, OsDisk

Findings = Inspection | UnreadableFileError
PUT_ASIDE = (ArrivalState.QUARANTINED, ArrivalState.SKIPPED)
"""What waits for the user to take it up again."""


class Ledger(Protocol):
    """What is remembered of the files that arrived before."""

    def by_paths(self, feed: str, paths: Sequence[str]) -> Mapping[str, Arrival]:
        """The newest record of each path that was not refused; unknown paths are left out."""
        ...

    def contents(self, feed: str, hashes: Sequence[str]) -> Mapping[str, set[str]]:
        """Those of the hashes under which files with rows are loaded or to be loaded in the feed, with their paths."""
        ...

    def loaded_paths(self, feed: str, paths: Sequence[str]) -> set[str]:
        """Those of the paths that some table has loaded."""
        ...


def admit(feed: Feed, settled: SettledFile, ledger: Ledger, now: float, *, disk: Disk | None = None) -> Arrival | None:
    """Inspect a file and judge it; None where there is nothing to register."""
    return judge(feed, settled, examine(feed, settled, disk), ledger, now)


def retry(feed: Feed, path: str, ledger: Ledger, now: float, *, disk: Disk | None = None) -> Arrival:
    """Judge a file that was put aside again, even if only the feed's declaration has changed since."""
    known = ledger.by_paths(feed.name, [path]).get(path)
    if known is None or known.state not in PUT_ASIDE:
        standing = "is not known" if known is None else f"is {known.state}"
        raise NotQuarantinedError(
            f"{path} {standing} in feed '{feed.name}': there is nothing to retry.",
            way_out="Quarantined files are listed by `freshtide feeds`.",
        )
    settled = _as_it_lies(feed, path, disk or OsDisk(), now)
    found = examine(feed, settled, disk)
    if isinstance(found, VanishedFileError):
        # That says nothing about the file. As a verdict it would take the place of the content that is known.
        raise found
    if found.sha256 != known.digest and ledger.loaded_paths(feed.name, [path]):
        raise OtherContentError(
            f"{path} has other content than some tables have loaded from it.",
            way_out=f"`freshtide feeds accept {path}` lets the new content take the place of the old everywhere.",
        )
    return _judge_as_new(feed, settled, found, ledger, now)


def judge_again(feed: Feed, path: str, ledger: Ledger, now: float, *, disk: Disk | None = None) -> Arrival:
    """Judge a file as if it had just arrived."""
    settled = _as_it_lies(feed, path, disk or OsDisk(), now)
    return _judge_as_new(feed, settled, examine(feed, settled, disk), ledger, now)


def accept(feed: Feed, path: str, ledger: Ledger, now: float, *, disk: Disk | None = None) -> Arrival:
    """Take a file as it is now, whatever was registered under its name, because the user says so."""
    settled = _as_it_lies(feed, path, disk or OsDisk(), now)
    if settled.is_punctuation:
        raise OtherContentError(
            f"{path} is punctuation: what it has promised stays promised.", way_out="Each promise is a new file."
        )
    found = examine(feed, settled, disk)
    if isinstance(found, UnreadableFileError):
        raise found
    known = ledger.by_paths(feed.name, [path]).get(path)
    if known is not None and known.digest == found.sha256 and known.state in LOADABLE:
        return _seen_again(known, settled)
    judged = _judge_as_new(feed, settled, found, ledger, now)
    if judged.state is not ArrivalState.READY:
        reason = (judged.reason or "").replace(RETRY, f"`freshtide feeds accept {path}`")
        raise OtherContentError(f"{path} cannot be taken as it is now. {reason}")
    return judged


def _as_it_lies(feed: Feed, path: str, disk: Disk, now: float) -> SettledFile:
    try:
        seen = disk.look(path)
    except FileNotFoundError:
        raise VanishedFileError(f"{path} is no longer there.", way_out="Put it back, then retry.") from None
    except OSError as error:
        raise unread(path, error) from error
    target = None if feed.folder.follow_links else disk.link_target(path)
    if target is not None and target not in OwnFolders(disk, [str(PurePath(path).parent)]):
        raise UnreadableFileError(f"{path} is a link that leads out of its folder, to {target}: it is not followed.")
    return SettledFile(
        path=path,
        size=seen.st_size,
        modified_ns=seen.st_mtime_ns,
        is_punctuation=is_punctuation(feed, path),
        seen_at=now,
    )


def examine(feed: Feed, settled: SettledFile, disk: Disk | None = None) -> Findings:
    """The inspection, with what is wrong with the file as a value."""
    try:
        return inspect(feed, settled, disk)
    except UnreadableFileError as error:
        return error


def judge(feed: Feed, settled: SettledFile, found: Findings, ledger: Ledger, now: float) -> Arrival | None:
    """The verdict, from what was found in the file and what is known: no I/O."""
    if isinstance(found, VanishedFileError):
        return None
    known = ledger.by_paths(feed.name, [settled.path]).get(settled.path)
    is_unchanged = known is not None and known.digest == found.sha256 and bool(found.sha256)
    if known is not None and is_unchanged and not (known.waits_for_its_content or _is_due_again(feed, known)):
        # Touched, put back as it was, or seen again after a restart: it is what it was.
        return _seen_again(known, settled)
    if known is not None and not is_unchanged and not feed.is_replaced and _stays_as_it_was(known, ledger):
        return _file(feed, settled, found, ArrivalState.REFUSED, now=now, reason=_changed_in_place(settled))
    return _judge_as_new(feed, settled, found, ledger, now)


def _is_due_again(feed: Feed, known: Arrival) -> bool:
    """Whether a file that was put aside may be in order by now: columns of a seed are those that its file has."""
    return feed.is_replaced and known.state is ArrivalState.QUARANTINED


def _seen_again(known: Arrival, settled: SettledFile) -> Arrival:
    """The record of a file that is what it was, with its id: that tells that nothing is new but its time."""
    return replace(known, size=settled.size, modified_ns=settled.modified_ns)


def _stays_as_it_was(known: Arrival, ledger: Ledger) -> bool:
    """Whether new content under a known name would be at odds with what was registered, and loaded, before."""
    is_put_aside = known.state is ArrivalState.QUARANTINED and not known.waits_for_its_content
    return not is_put_aside or bool(ledger.loaded_paths(known.feed, [known.position]))


def _judge_as_new(feed: Feed, settled: SettledFile, found: Findings, ledger: Ledger, now: float) -> Arrival:
    if isinstance(found, UnreadableFileError):
        return _file(feed, settled, found, ArrivalState.QUARANTINED, now=now, reason=found.reason)
    if settled.is_punctuation:
        return _file(feed, settled, found, ArrivalState.PUNCTUATION, now=now)
    fault = None if found.columns is None else format_of(feed).column_fault(feed, found.columns)
    if fault is not None:
        return _file(feed, settled, found, ArrivalState.QUARANTINED, now=now, reason=fault)
    # A file without rows is the producer saying "nothing happened": each counts, alike as they are.
    alike = ledger.contents(feed.name, [found.sha256]).get(found.sha256, set())
    if feed.folder.duplicates is Duplicates.SKIP and found.has_rows and alike - {settled.path}:
        reason = "The same content has arrived before under another name."
        return _file(feed, settled, found, ArrivalState.DUPLICATE, now=now, reason=reason)
    return _file(feed, settled, found, ArrivalState.READY, now=now)


def _changed_in_place(settled: SettledFile) -> str:
    name = settled.path.rpartition("/")[2]
    return (
        f"'{name}' arrived before with other content, and was changed in place since. What was registered stays as it "
        f"was. `freshtide feeds accept {settled.path}` lets the new content take the place of the old; what comes in "
        "addition to it needs a name of its own."
    )


def _file(
    feed: Feed,
    settled: SettledFile,
    found: Findings,
    state: ArrivalState,
    *,
    now: float,
    reason: str | None = None,
) -> Arrival:
    inspected = found if isinstance(found, Inspection) else None
    return Arrival(
        feed=feed.name,
        position=settled.path,
        digest=found.sha256,
        size=settled.size,
        modified_ns=settled.modified_ns,
        arrived_at=now,
        state=state,
        timestamp=inspected.timestamp if inspected else None,
        rows=inspected.rows if inspected else None,
        columns=inspected.columns if inspected else None,
        unpacked=inspected.unpacked if inspected else None,
        reason=reason,
    )
