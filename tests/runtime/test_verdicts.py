"""Whose fault a failure is."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from freshtide.catalog.catalog import Catalog, CatalogError
from freshtide.core.errors import FreshtideError
from freshtide.runtime.verdicts import surroundings_at_fault


def caused(error: Exception, cause: Exception) -> Exception:
    try:
        raise error from cause
    except type(error) as raised:
        return raised


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "/data/part"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        caused(FreshtideError("the commit failed"), OSError(errno.EROFS, "Read-only file system")),
        FreshtideError("Generic LocalFileSystem error: cannot write: No space left on device (os error 28)"),
        FreshtideError("Job aborted: java.io.IOException: No space left on device"),
        FreshtideError("java.nio.file.FileSystemException: /tmp/x: Too many open files"),
    ],
)
def test_the_disk_is_at_fault(error: Exception) -> None:
    found = surroundings_at_fault(error)
    assert found is not None
    assert found.message.startswith("The disk does not do its work")


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file or directory", "a.csv"),
        PermissionError(errno.EACCES, "Permission denied", "a.csv"),
        FreshtideError("The value 'No space left on device' cannot be cast to INT"),
        ValueError("date value out of range"),
    ],
)
def test_file_row_or_query_is_at_fault(error: Exception) -> None:
    assert surroundings_at_fault(error) is None


def test_the_database_is_at_fault(tmp_path: Path) -> None:
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'catalog.db'}")
    catalog.require_answer()
    with sqlite3.connect(tmp_path / "catalog.db") as other:
        other.execute("DROP TABLE requests")
    with pytest.raises(CatalogError) as caught:
        catalog.require_answer()
    assert surroundings_at_fault(caught.value) is caught.value
    catalog.close()
