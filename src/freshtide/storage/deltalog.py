"""The Delta log as files: which there are, what they say about themselves, and mending what a crash tore."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from freshtide.world import Disk, names_in

METADATA_KEY = "freshtide"
_ENTRY = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_HINT = "_last_checkpoint"
# Entries of updates are short, and so many of them are kept in mind as they were read.
_SHORT = 16_384
_KEPT = 512


@lru_cache(maxsize=_KEPT)
def log_folder(folder: Path) -> Path:
    return folder / "_delta_log"


@lru_cache(maxsize=_KEPT)
def commit_path(folder: Path, version: int) -> Path:
    return log_folder(folder) / f"{version:020d}.json"


def checkpoint_path(folder: Path, version: int) -> Path:
    return log_folder(folder) / f"{version:020d}.checkpoint.parquet"


def checkpoint_hint(folder: Path) -> Path:
    """The file by which readers find the newest checkpoint."""
    return log_folder(folder) / _HINT


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The versions that a log has files of, in order."""

    entries: tuple[int, ...]
    checkpoints: tuple[int, ...]

    def is_whole_from(self, version: int) -> bool:
        """Whether every entry from a version on is there."""
        kept = [entry for entry in self.entries if entry >= version]
        return kept == list(range(version, version + len(kept)))


def listing(disk: Disk, folder: Path) -> Listing:
    """Look at the whole folder: takes as long as there are entries, so nobody does it for each commit."""
    entries, checkpoints = [], []
    for name in names_in(disk, log_folder(folder)):
        if found := _ENTRY.fullmatch(name):
            entries.append(int(found[1]))
        elif found := _CHECKPOINT.fullmatch(name):
            checkpoints.append(int(found[1]))
    return Listing(entries=tuple(sorted(entries)), checkpoints=tuple(sorted(checkpoints)))


def metadata(disk: Disk, folder: Path, version: int) -> Mapping[str, Any]:
    """What an entry of ours says about itself: an update its `number`, a rollback the number it goes `back_to`."""
    for action in _parsed(disk.read(commit_path(folder, version)).decode()):
        said: Mapping[str, Any] | None = action.get("commitInfo", {}).get(METADATA_KEY)
        if said is not None:
            return said
    return {}


def drop_torn_tail(disk: Disk, folder: Path) -> None:
    """Remove entries at the end of the log that a crash left empty or half written.

    An entry is reported only when it is on disk, so whatever is torn was never promised to anybody. delta-rs would open
    such a table silently without the data.
    """
    for version in reversed(listing(disk, folder).entries):
        path = commit_path(folder, version)
        if _is_whole(disk, path):
            return
        disk.remove(path)


def newest_whole(disk: Disk, folder: Path) -> int | None:
    """The newest version that a crash has not torn."""
    found = reversed(listing(disk, folder).entries)
    return next((version for version in found if _is_whole(disk, commit_path(folder, version))), None)


def without_checkpoints(disk: Disk, folder: Path) -> Iterator[None]:
    """Drop checkpoints, more of them at each step, for as long as the log is whole without them.

    First those that cannot be read, then the newest ones: one may be wrong in a way that only shows when it is used.
    """
    found = listing(disk, folder)
    readable = [version for version in found.checkpoints if _is_readable(disk, checkpoint_path(folder, version))]
    for start in (*reversed(readable), -1):
        if not found.is_whole_from(start + 1):
            return
        disk.remove(checkpoint_hint(folder), missing_ok=True)
        for version in found.checkpoints:
            if version > start or version not in readable:
                disk.remove(checkpoint_path(folder, version), missing_ok=True)
        yield


def missing_entry(found: Listing) -> int | None:
    """An entry that is not there although later ones are, and no checkpoint stands for it."""
    there = set(found.entries)
    first = max(found.checkpoints, default=-1) + 1
    return next((version for version in range(first, max(found.entries, default=0)) if version not in there), None)


def torn_entry(disk: Disk, folder: Path, found: Listing) -> int | None:
    """An entry that is not whole although a later one is, and no checkpoint stands for it.

    Engines read such a log without what the entry had said, and do not tell.
    """
    first = max(found.checkpoints, default=-1) + 1
    try:
        whole = {
            version: _is_whole(disk, commit_path(folder, version)) for version in found.entries if version >= first
        }
    except FileNotFoundError:
        return None  # Whoever runs the warehouse is mending the end of the log in this moment.
    newest = max((version for version, is_whole in whole.items() if is_whole), default=first)
    return next((version for version in range(first, newest) if not whole.get(version, True)), None)


def _is_readable(disk: Disk, checkpoint: Path) -> bool:
    try:
        with disk.open(checkpoint) as file:
            pq.ParquetFile(file).read()
    except pa.ArrowInvalid:
        return False
    except OSError as error:
        # What Arrow finds wrong with the content has no number; what the system says has one.
        if error.errno is not None:
            raise
        return False
    return True


def _is_whole(disk: Disk, path: Path) -> bool:
    text = disk.read(path).decode(errors="replace")
    if not text.strip():
        return False
    try:
        actions = _parsed(text)
    except ValueError:
        return False
    # Torn between two lines, what is left is readable all the same; the transaction is written last.
    ours = any(METADATA_KEY in action.get("commitInfo", {}) for action in actions)
    return not ours or "txn" in actions[-1]


def _parsed(text: str) -> Sequence[Mapping[str, Any]]:
    return _parsed_before(text) if len(text) <= _SHORT else _parse(text)


@lru_cache(maxsize=_KEPT)
def _parsed_before(text: str) -> Sequence[Mapping[str, Any]]:
    """An entry is read when it is looked for tears, for the last update, and for what came since another."""
    return _parse(text)


def _parse(text: str) -> Sequence[Mapping[str, Any]]:
    # Not splitlines: a path or a value may hold one of the rarer line separators, which JSON leaves as they are.
    return [json.loads(line) for line in text.split("\n") if line.strip()]
