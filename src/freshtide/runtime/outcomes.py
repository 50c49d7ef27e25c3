"""What the ways of updating a table have in common."""

from __future__ import annotations

from dataclasses import dataclass

from freshtide.core.files import FeedFile
from freshtide.spark import UpdateOutcome

# One Spark job lists and opens every file that it reads: beyond this many the rest waits for the next one.
FILES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of an update; without an outcome there was nothing to do after all."""

    outcome: UpdateOutcome | None = None
    files: tuple[FeedFile, ...] = ()
    is_cut: bool = False
    """Whether there was more to load than one update takes."""

    @property
    def landed_files(self) -> tuple[FeedFile, ...]:
        """The files that the commit names: what it does not name is not in the table."""
        if self.outcome is None:
            return ()
        named = {(file.path, file.sha256) for file in self.outcome.record.files}
        return tuple(file for file in self.files if (file.path, file.sha256) in named)


def pool_of(track: int) -> str:
    """The name of the Spark pool that a track works in."""
    return f"track-{track}"
