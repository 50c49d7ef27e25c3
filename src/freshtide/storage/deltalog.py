"""The Delta log as files: reading what commits recorded, and mending what a crash tore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from freshtide.storage.records import UpdateRecord

METADATA_KEY = "freshtide"


def log_folder(folder: Path) -> Path:
    return folder / "_delta_log"


def commit_path(folder: Path, version: int) -> Path:
    return log_folder(folder) / f"{version:020d}.json"


def exists(folder: Path) -> bool:
    """Whether there is a table: a log with at least one whole commit."""
    return any(True for _ in _versions(folder))


def records(folder: Path, *, after: int = -1) -> Iterator[tuple[int, UpdateRecord]]:
    """(version, record) of the updates committed after a version, oldest first."""
    for version in sorted(_versions(folder)):
        if version > after:
            record = record_of(folder, version)
            if record is not None:
                yield version, record


def latest_record(folder: Path, version: int) -> UpdateRecord | None:
    """The newest update at or before a version; compactions and the like in between are passed over."""
    for candidate in range(version, -1, -1):
        record = record_of(folder, candidate)
        if record is not None:
            return record
    return None


def record_of(folder: Path, version: int) -> UpdateRecord | None:
    for action in _actions(folder, version):
        metadata = action.get("commitInfo", {}).get(METADATA_KEY)
        if metadata is not None and "number" in metadata:
            return UpdateRecord.from_metadata(metadata)
    return None


def added_paths(folder: Path, version: int) -> tuple[str, ...]:
    """Paths that a commit added, as they stand in the log."""
    return tuple(action["add"]["path"] for action in _actions(folder, version) if "add" in action)


def drop_torn_tail(folder: Path) -> None:
    """Remove commits at the end of the log that a crash left empty or half written.

    A commit is reported only after its log file has been synced, so whatever is torn was never promised to
    anybody. delta-rs would open such a table silently without the data.
    """
    for version in sorted(_versions(folder), reverse=True):
        path = commit_path(folder, version)
        if _is_whole(path):
            return
        path.unlink()


def drop_checkpoints(folder: Path) -> None:
    """Forget all checkpoints: every commit is kept as JSON, so they can be written anew."""
    for path in log_folder(folder).glob("*.checkpoint*"):
        path.unlink()
    (log_folder(folder) / "_last_checkpoint").unlink(missing_ok=True)


def _versions(folder: Path) -> Iterator[int]:
    try:
        names = [path.name for path in log_folder(folder).iterdir()]
    except FileNotFoundError:
        return
    for name in names:
        stem, _, ending = name.partition(".")
        if ending == "json" and len(stem) == 20 and stem.isdigit():
            yield int(stem)


def _actions(folder: Path, version: int) -> Iterator[dict[str, Any]]:
    try:
        text = commit_path(folder, version).read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        if line.strip():
            yield json.loads(line)


def _is_whole(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.strip():
        return False
    try:
        for line in text.splitlines():
            json.loads(line)
    except ValueError:
        return False
    return True
