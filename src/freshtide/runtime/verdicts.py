"""Whose fault a failure is: that of the disk, the database or Spark, or of what was being done."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator

from freshtide.core.errors import FreshtideError, SurroundingsError

# What a disk, a mount or the limits of a process say. A file that is missing or forbidden is not among them: that is
# about the file.
_OF_THE_DISK = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ESTALE,
        errno.ENODEV,
        errno.ENXIO,
        errno.ENOTCONN,
        errno.ESHUTDOWN,
        errno.EHOSTDOWN,
        errno.ETIMEDOUT,
        errno.EREMOTEIO,
    }
)
# How libraries in other languages tell the same: delta-rs gives the number, Java the words.
_NUMBERED = re.compile(r"\(os error (\d+)\)")
_WORDS = {os.strerror(number).lower(): number for number in _OF_THE_DISK}


class DiskError(SurroundingsError):
    """A disk that is full, read-only or broken, or a process that may open no more files."""

    def __init__(self, number: int, where: str | None) -> None:
        place = f" at {where}" if where else ""
        super().__init__(
            f"The disk does not do its work{place}: {os.strerror(number)}.",
            way_out="Nothing is lost: what was being done is repeated as soon as it does.",
        )


def surroundings_at_fault(error: BaseException) -> SurroundingsError | None:
    """What is wrong with disk, database or Spark, where that is behind an error; None where it is not."""
    for cause in _causes(error):
        if isinstance(cause, SurroundingsError):
            return cause
        if isinstance(cause, OSError) and cause.errno in _OF_THE_DISK:
            return DiskError(cause.errno, None if cause.filename is None else os.fsdecode(cause.filename))
        number = _told_number(str(cause))
        if number in _OF_THE_DISK:
            return DiskError(number, None)
    return None


def reason_of(error: BaseException) -> str:
    """An error in words for the user."""
    return error.message if isinstance(error, FreshtideError) else f"{type(error).__name__}: {error}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _told_number(text: str) -> int | None:
    if found := _NUMBERED.search(text):
        return int(found[1])
    if "java." not in text:
        return None
    lowered = text.lower()
    return next((number for words, number in _WORDS.items() if f": {words}" in lowered), None)
