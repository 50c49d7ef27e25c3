"""The verdict on a settled file: loaded, skipped, refused or kept aside, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from freshtide.core.files import FeedFile, FileState
from freshtide.core.tables import Duplicates, Feed, FileFormat, SchemaChange
from freshtide.feeds.disk import Disk, LocalDisk
from freshtide.feeds.errors import NotQuarantinedError, UnreadableFileError, VanishedFileError
from freshtide.feeds.globs import is_punctuation
from freshtide.feeds.inspection import Inspection, inspect
from freshtide.feeds.watching import SettledFile

Findings = Inspection | UnreadableFileError


class Ledger(Protocol):
    """What is remembered of the files that arrived before."""

    def by_paths(self, feed: str, paths: Sequence[str]) -> Mapping[str, FeedFile]:
        """The newest record of each path that was not refused; unknown paths are left out."""
        ...

    def contents(self, feed: str, hashes: Sequence[str]) -> set[str]:
        """Those of the hashes under which a READY file with rows is registered in the feed."""
        ...


def admit(feed: Feed, settled: SettledFile, ledger: Ledger, now: float) -> FeedFile | None:
    """Inspect a file and judge it; None where there is nothing to register."""
    return judge(feed, settled, examine(feed, settled), ledger, now)


def retry(feed: Feed, path: str, ledger: Ledger, now: float, *, disk: Disk | None = None) -> FeedFile:
    """Judge a quarantined file again, even if only the feed's declaration has changed since."""
    known = ledger.by_paths(feed.name, [path]).get(path)
    if known is None or known.state is not FileState.QUARANTINED:
        standing = "is not known" if known is None else f"is {known.state}"
        raise NotQuarantinedError(
            f"{path} {standing} in feed '{feed.name}': there is nothing to retry.",
            way_out="Quarantined files are listed by `freshtide feeds`.",
        )
    try:
        seen = (disk or LocalDisk()).look(path)
    except FileNotFoundError:
        raise VanishedFileError(f"{path} is no longer there.", way_out="Put it back, then retry.") from None
    settled = SettledFile(
        path=path,
        size=seen.st_size,
        modified_ns=seen.st_mtime_ns,
        is_punctuation=is_punctuation(feed, path),
    )
    return _judge_as_new(feed, settled, examine(feed, settled), ledger, now)


def examine(feed: Feed, settled: SettledFile) -> Findings:
    """The inspection, with what is wrong with the file as a value."""
    try:
        return inspect(feed, settled)
    except UnreadableFileError as error:
        return error


def judge(feed: Feed, settled: SettledFile, found: Findings, ledger: Ledger, now: float) -> FeedFile | None:
    """The verdict, from what was found in the file and what is known: no I/O."""
    if isinstance(found, VanishedFileError):
        return None
    known = ledger.by_paths(feed.name, [settled.path]).get(settled.path)
    if known is not None and known.sha256 == found.sha256 and found.sha256:
        return None  # touched, or seen again after a restart
    if known is not None and known.state is not FileState.QUARANTINED:
        return _file(feed, settled, found, FileState.REFUSED, now=now, reason=_changed_in_place(settled))
    return _judge_as_new(feed, settled, found, ledger, now)


def _judge_as_new(feed: Feed, settled: SettledFile, found: Findings, ledger: Ledger, now: float) -> FeedFile:
    if isinstance(found, UnreadableFileError):
        return _file(feed, settled, found, FileState.QUARANTINED, now=now, reason=found.reason)
    if settled.is_punctuation:
        return _file(feed, settled, found, FileState.PUNCTUATION, now=now)
    fault = column_fault(feed, found.columns)
    if fault is not None:
        return _file(feed, settled, found, FileState.QUARANTINED, now=now, reason=fault)
    # A file without rows is the producer saying "nothing happened": each counts, alike as they are.
    if feed.duplicates is Duplicates.SKIP and found.has_rows and ledger.contents(feed.name, [found.sha256]):
        reason = "The same content has arrived before under another name."
        return _file(feed, settled, found, FileState.DUPLICATE, now=now, reason=reason)
    return _file(feed, settled, found, FileState.READY, now=now)


def column_fault(feed: Feed, columns: tuple[str, ...] | None) -> str | None:
    """What is wrong with the columns that a file names itself; None where nothing is."""
    if columns is None:
        return None
    declared = feed.column_names
    # Spark does not tell names apart by case.
    doubled = [name for name, count in Counter(map(str.lower, columns)).items() if count > 1]
    if doubled and feed.format is not FileFormat.JSON:
        return f"The file names columns twice: {_listed(doubled)}. Mend the file, then `freshtide feeds retry`."
    is_json = feed.format is FileFormat.JSON
    if not is_json and feed.time_column not in columns:
        return (
            f"The file lacks the time column '{feed.time_column}' (it has {_listed(columns)}). "
            "Mend the file, then `freshtide feeds retry`."
        )
    if feed.on_schema_change is SchemaChange.EVOLVE:
        return None
    added = [name for name in columns if name not in declared]
    missing = [] if is_json else [name for name in declared if name not in columns]
    differences = [f"adds {_listed(added)}"] * bool(added) + [f"lacks {_listed(missing)}"] * bool(missing)
    if not differences:
        return None
    return (
        f"The file has other columns than feed '{feed.name}' declares: it {' and '.join(differences)}. "
        "Set `on_schema_change: evolve` or mend the file, then `freshtide feeds retry`."
    )


def _changed_in_place(settled: SettledFile) -> str:
    name = settled.path.rpartition("/")[2]
    return (
        f"'{name}' arrived before with other content, and was changed in place since. What was registered "
        "stays as it was. Give the new file a new name."
    )


def _listed(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _file(
    feed: Feed,
    settled: SettledFile,
    found: Findings,
    state: FileState,
    *,
    now: float,
    reason: str | None = None,
) -> FeedFile:
    inspected = found if isinstance(found, Inspection) else None
    return FeedFile(
        feed=feed.name,
        path=settled.path,
        sha256=found.sha256,
        size=settled.size,
        modified_ns=settled.modified_ns,
        arrived_at=now,
        state=state,
        timestamp=inspected.timestamp if inspected else None,
        rows=inspected.rows if inspected else None,
        columns=inspected.columns if inspected else None,
        reason=reason,
    )
