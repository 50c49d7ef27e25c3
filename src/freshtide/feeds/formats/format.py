"""What there is to know of a file format before Spark reads a file of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Feed, Format
from freshtide.feeds.content import Content, Wanted
from freshtide.feeds.rawfiles import RawFile

UTF8 = "utf-8"


class FileFormat(Protocol):
    """A kind of files. The options that a feed has for it are a value of the class `options`, which bears its name."""

    @property
    def options(self) -> type[Format]: ...

    @property
    def title(self) -> str:
        """What it is called in sentences."""
        ...

    @property
    def aliases(self) -> Sequence[str]:
        """Other names that users may write for it."""
        ...

    @property
    def extensions(self) -> Sequence[str]:
        """How names of its files end, in lower case."""
        ...

    def check(self, feed: Feed) -> None:
        """Raise what would make every file of the feed fail."""
        ...

    def read(self, feed: Feed, raw: RawFile, wanted: Wanted) -> Content:
        """One pass through a file. An UnreadableFileError says why it cannot be loaded."""
        ...

    def column_fault(self, feed: Feed, columns: tuple[str, ...]) -> str | None:
        """What is wrong with the columns that a file names itself; None where nothing is."""
        ...


class OptionError(FreshtideError):
    """An option that no file could be read with."""

    def __init__(self, option: str, message: str, *, way_out: str) -> None:
        super().__init__(message, way_out=way_out)
        self.option = option


def require_encoding(feed: Feed, readable: Sequence[str] = (UTF8,)) -> None:
    """Raise where a feed has another encoding than those that Spark reads its files in."""
    encoding = feed.format.encoding
    if encoding.lower() not in readable:
        raise OptionError(
            "encoding",
            f"Feed '{feed.name}' has an encoding that Spark cannot read its files in: '{encoding}'.",
            way_out=f"Write one of {', '.join(readable)}.",
        )
