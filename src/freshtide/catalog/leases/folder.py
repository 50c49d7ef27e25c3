"""The seat beside the tables: a file per epoch, which can be created once.

`000000000012.held` names the holder in JSON, and the time of its last modification is the heartbeat: to set it takes no
room on a disk that is full. At an orderly end it is renamed to `000000000012.released`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from freshtide.catalog.leases.holders import Holder, unknown
from freshtide.catalog.leases.seats import Standing
from freshtide.core.errors import SurroundingsError
from freshtide.world import Disk, OsDisk, make_folder, sync_files

_HELD, _RELEASED = ".held", ".released"
# Earlier ones tell nothing any more: a process that still waits to create one finds the higher ones afterwards.
_KEPT = 8


# Readers of tables pass by what begins with an underscore.
_BESIDE_TABLES = "_freshtide"


def lease_folder(tables: Path) -> Path:
    """Where the lease on a folder of tables is kept."""
    return tables / _BESIDE_TABLES


class StorageAwayError(SurroundingsError):
    """The folder beside the tables cannot be looked into, or written to."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(
            f"{folder}, where it is kept who runs the warehouse, cannot be used: {error.strerror or error}.",
            way_out="Is its disk mounted, and not full? If it was deleted, end this run and start another.",
        )


class FolderSeat:
    """Epochs as files of a folder."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self._disk = disk or OsDisk()
        self._epochs = folder / "epochs"
        self._unfenced = folder / "unfenced"

    def read(self) -> Standing | None:
        while (newest := self._newest()) is not None:
            try:
                # Opened first: over a network that is when the time of the heartbeat is asked for anew.
                with self._disk.open(newest) as file:
                    beat, text = file.look().st_mtime_ns, file.read()
            except FileNotFoundError:
                continue  # released, or taken over, in this moment
            return Standing(holder=_holder(newest, text), beat=beat, released=newest.suffix == _RELEASED)
        return None

    def take(self, holder: Holder, after: Standing | None) -> bool:
        last = [] if after is None else [after.holder.epoch]
        try:
            make_folder(self._disk, self._epochs)
            # Before, so that who comes too late disturbs nobody; and once more when nobody can come between.
            if self._taken()[-1:] != last or not self._create(holder):
                return False
            if self._taken()[-2:] == [*last, holder.epoch]:
                return True
            self._disk.remove(self._held(holder), missing_ok=True)
            return False
        except OSError as error:
            raise StorageAwayError(self._epochs.parent, error) from error

    def _create(self, holder: Holder) -> bool:
        path = self._held(holder)
        try:
            self._disk.create(path, json.dumps(asdict(holder)).encode())
        except FileExistsError:
            return False
        try:
            sync_files(self._disk, [path])
        except BaseException:
            # It would name this process as one that runs the warehouse, for as long as it lives.
            self._disk.remove(path, missing_ok=True)
            raise
        for old in self._files()[:-_KEPT]:
            self._disk.remove(old, missing_ok=True)
        return True

    def is_held(self, holder: Holder) -> bool:
        """Whether nobody has come after the holder. While the folder is away, nobody can tell, and nobody can come."""
        try:
            return max(self._names(), default=None) == _name(holder)
        except OSError as error:
            raise StorageAwayError(self._epochs.parent, error) from error

    def beat(self, holder: Holder) -> bool:
        if not self.is_held(holder):
            return False
        self._disk.touch(self._held(holder))
        return True

    def release(self, holder: Holder) -> None:
        held = self._held(holder)
        if self._disk.exists(held):
            self._disk.rename(held, held.with_suffix(_RELEASED))

    @property
    def must_be_fenced(self) -> bool:
        """Whether a former holder may still be alive, and some table without a fence against it."""
        return self._disk.exists(self._unfenced)

    def doubt(self) -> None:
        """A former holder may be alive. Written down before its place is taken: whoever comes next puts up fences."""
        make_folder(self._disk, self._unfenced.parent)
        self._disk.write(self._unfenced, b"")
        sync_files(self._disk, [self._unfenced])

    def fenced(self) -> None:
        self._disk.remove(self._unfenced, missing_ok=True)
        self._disk.sync(self._unfenced.parent)

    def _held(self, holder: Holder) -> Path:
        return self._epochs / _name(holder)

    def _newest(self) -> Path | None:
        return max(self._files(), default=None)

    def _taken(self) -> list[int]:
        """The epochs of all holders that are still known, one after the other."""
        return [int(path.stem) for path in self._files()]

    def _files(self) -> list[Path]:
        try:
            return [self._epochs / name for name in sorted(self._names())]
        except FileNotFoundError:
            return []

    def _names(self) -> list[str]:
        return [name for name in self._disk.names(self._epochs) if name.endswith((_HELD, _RELEASED))]


def _name(holder: Holder) -> str:
    return f"{holder.epoch:012d}{_HELD}"


def _holder(path: Path, text: bytes) -> Holder:
    try:
        return Holder(**json.loads(text))
    except (ValueError, TypeError):
        return unknown(int(path.stem))
