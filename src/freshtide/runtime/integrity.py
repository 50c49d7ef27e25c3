"""Whether files are still what they were when they arrived."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from freshtide.catalog import Catalog
from freshtide.core.errors import FreshtideError
from freshtide.core.files import FeedFile, FileState
from freshtide.core.tables import Table


def put_aside_changed(files: Iterable[FeedFile], catalog: Catalog) -> bool:
    """Quarantine files that have changed or gone since they were registered; whether there were any."""
    faults = {file.id: fault for file in files if (fault := _changed_since_arrival(file)) is not None}
    for file_id, fault in faults.items():
        catalog.files.set_state(file_id, FileState.QUARANTINED, fault)
    return bool(faults)


def _changed_since_arrival(file: FeedFile) -> str | None:
    if file.size < 0:
        return None  # Remembered from a table's log: only its content was ever known.
    try:
        found = Path(file.path).stat()
    except OSError:
        return "It was gone before it could be loaded. Put it back and run `freshtide feeds retry`."
    if (found.st_size, found.st_mtime_ns) != (file.size, file.modified_ns) and _hash(file.path) != file.sha256:
        return "It was changed after it had settled, before it was loaded. Check it and run `freshtide feeds retry`."
    return None


def _hash(path: str) -> str:
    with Path(path).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


class MissingFilesError(FreshtideError):
    """Files that a rebuild needs are gone."""


def require_files(table: Table, files: Iterable[FeedFile]) -> None:
    """All files that a table is to be rebuilt from must be there."""
    missing = [file.path for file in files if not Path(file.path).exists()]
    if missing:
        raise MissingFilesError(
            f"'{table.name}' cannot be rebuilt: {len(missing)} of its files are gone, the first is {missing[0]}.",
            way_out="Put the files back where they were.",
        )
