"""What can be wrong with a file, or with how a feed describes its files."""

from __future__ import annotations

from freshtide.core.errors import FreshtideError


class UnreadableFileError(FreshtideError):
    """A file that cannot be loaded as it is. `sha256` is empty where not even its bytes could be read."""

    def __init__(self, reason: str, *, way_out: str | None = None, sha256: str = "") -> None:
        super().__init__(reason, way_out=way_out)
        self.sha256 = sha256

    @property
    def reason(self) -> str:
        return str(self)

    def with_sha256(self, sha256: str) -> UnreadableFileError:
        return UnreadableFileError(self.message, way_out=self.way_out, sha256=sha256)


class VanishedFileError(UnreadableFileError):
    """A file that was taken away between being seen and being read: no arrival yet, and no fault either."""


class UnreachableFileError(VanishedFileError):
    """A file that is there and that the disk does not hand out: that says nothing about the file."""


def unread(path: str, error: OSError) -> UnreadableFileError:
    """What it means for a file that it cannot be opened or read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return VanishedFileError(f"{path} is no longer there.")
    if isinstance(error, PermissionError | IsADirectoryError):
        return UnreadableFileError(f"The file cannot be opened: {error.strerror or error}.")
    return UnreachableFileError(
        f"{path} cannot be read: {error.strerror or error}.", way_out="It can be once the disk that it lies on is well."
    )


def first_line(error: BaseException) -> str:
    """What a library says about a file, without the places in its own code."""
    return str(error).partition("\n")[0].rstrip(".") + "."


class TimeFormatError(FreshtideError):
    """A time format that Freshtide cannot read."""


class TimeZoneError(FreshtideError):
    """A name that is none of a time zone."""


class NamePatternError(FreshtideError):
    """A file name pattern that cannot give a timestamp."""


class NotQuarantinedError(FreshtideError):
    """A file was to be retried that does not wait for it."""


class OtherContentError(FreshtideError):
    """A file was to be taken up whose content is not what was loaded from it."""
