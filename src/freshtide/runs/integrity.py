"""Whether files are still what they were when they arrived."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from freshtide.catalog import Catalog
from freshtide.core.arrivals import CHANGED_BEFORE_LOADING, Arrival, ArrivalState
from freshtide.core.errors import FreshtideError, SurroundingsError
from freshtide.core.tables import Table
from freshtide.world import Disk, sha256_of

_REASONS = {
    ArrivalState.AWAY: "Its tables wait for it and load it when it is back. `freshtide feeds skip` goes on without it.",
    ArrivalState.QUARANTINED: CHANGED_BEFORE_LOADING,
}


class OutOfReachError(SurroundingsError):
    """A file that cannot even be looked at: that says nothing about the file."""

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(
            f"{path} cannot be looked at: {error.strerror or error}.",
            way_out="Check the disk or the mount that it lies on, and that the user that runs Freshtide may read it.",
        )


class MissingFilesError(FreshtideError):
    """Files that a rebuild needs are gone, or hold something else by now."""


def look_at(disk: Disk, files: Sequence[Arrival], catalog: Catalog) -> list[Arrival] | None:
    """The files as they stand now: those that are not there are away, those that were away and are back are ready.

    None if some have changed since they were registered: these are quarantined, and there are others to look at.
    What a punctuation promises was read when it arrived: it need not be there any longer.
    """
    found = [
        file if file.state is ArrivalState.PUNCTUATION else replace(file, state=_standing(disk, file)) for file in files
    ]
    for state in (ArrivalState.READY, ArrivalState.AWAY, ArrivalState.QUARANTINED):
        changed = [now.id for before, now in zip(files, found, strict=True) if now.state is state is not before.state]
        catalog.arrivals.note_standing(changed, state, _REASONS.get(state))
    return None if any(file.state is ArrivalState.QUARANTINED for file in found) else found


def to_rebuild_from(disk: Disk, table: Table, catalog: Catalog) -> list[Arrival]:
    """The files that a table has loaded, all of them there and with the content that is registered.

    Whatever has become of a file since in the eyes of another table, it is part of this one.
    """
    files = loaded_files(table, catalog)
    require_files(disk, table, files, thoroughly=True)
    return files


def loaded_files(table: Table, catalog: Catalog) -> list[Arrival]:
    """The files that a table has loaded, as they were registered."""
    return [
        file if file.state is ArrivalState.PUNCTUATION else replace(file, state=ArrivalState.READY)
        for file in catalog.arrivals.loaded(table.name)
    ]


def require_files(disk: Disk, table: Table, files: Iterable[Arrival], *, thoroughly: bool = False) -> None:
    """All files that a table is to be rebuilt from must be there as they were registered.

    One that is replaced by its newest file is made of that alone, whatever it holds by the time that it is read.
    """
    if table.is_replaced and not thoroughly:
        return
    data = [file for file in files if file.state is not ArrivalState.PUNCTUATION]
    standing = {file.position: _standing(disk, file, thoroughly=thoroughly) for file in data}
    lost = [path for path, state in standing.items() if state is not ArrivalState.READY]
    if lost:
        away = standing[lost[0]] is ArrivalState.AWAY
        accept = f"`freshtide feeds accept {lost[0]}` takes the content that it has now."
        told = f"{len(lost)} of its files are away or have changed since they were"
        if len(lost) == 1:
            told = "1 of its files is away or has changed since it was"
        raise MissingFilesError(
            f"'{table.name}' cannot be rebuilt: {told} loaded. "
            f"The first is {lost[0]}, which {'is away' if away else 'has changed'}.",
            way_out="Put it back." if away else f"Put it back as it was, or {accept}",
        )


def has_changed(disk: Disk, file: Arrival) -> bool:
    """Whether other content lies where a file was found; nobody is told of it."""
    return _standing(disk, file, thoroughly=True) is ArrivalState.QUARANTINED


def _standing(disk: Disk, file: Arrival, *, thoroughly: bool = False) -> ArrivalState:
    """Ready if the file is what it was when it arrived, away, or quarantined because it holds something else.

    A file of the same size and time is taken for the same, unless it is to be looked at thoroughly.
    """
    try:
        found = disk.look(file.position)
        looks_alike = (found.st_size, found.st_mtime_ns) == (file.size, file.modified_ns)
        is_intact = (looks_alike and not thoroughly) or sha256_of(disk, file.position) == file.digest
    except (FileNotFoundError, NotADirectoryError):
        return ArrivalState.AWAY
    except OSError as error:
        raise OutOfReachError(file.position, error) from error
    return ArrivalState.READY if is_intact else ArrivalState.QUARANTINED
