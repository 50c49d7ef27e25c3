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
    """A file that was taken away between being seen and being read: no arrival, and no fault either."""


class TimeFormatError(FreshtideError):
    """A time format that Freshtide cannot read."""


class NamePatternError(FreshtideError):
    """A file name pattern that cannot give a timestamp."""


class NotQuarantinedError(FreshtideError):
    """A file was to be retried that does not wait for it."""
