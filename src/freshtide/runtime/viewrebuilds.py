"""Views that are computed anew in parts: one span of time after another, each by itself, committed together.

As with base tables each part is one update on a track, its files are named by no log before the last part commits all
of them, and nothing of it survives a crash. A part is what the view gains from one cut to another. It counts as long as
it would come out the same: until a source is revised at or before its end, or the view is to hold something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from freshtide.catalog import RebuildProgress
from freshtide.core.errors import FreshtideError
from freshtide.core.steps import Span
from freshtide.runtime.writtenparts import PartsUnderway, WrittenPart
from freshtide.storage import Prepared, gathered

IsRevised = Callable[[Mapping[str, int], int], bool]
"""Whether sources have been revised at or before a cut, after the updates that are told by their numbers."""


class OutdatedPartsError(FreshtideError):
    """Parts of a rebuild that would come out otherwise by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written(WrittenPart):
    """A part that has been computed."""

    upto: int
    """Where it ends, in microseconds."""

    @property
    def contents(self) -> Mapping[str, int]:
        """The content of reference tables that it was computed with."""
        return self.prepared.own[1].record.contents

    def is_outdated(self, is_revised: IsRevised) -> bool:
        return is_revised(self.prepared.own[1].record.sources, self.upto)


@dataclass(slots=True, kw_only=True)
class ViewUnderway(PartsUnderway[_Written]):
    """A view that is computed anew: its parts follow one after the other in time, without gaps."""

    @property
    def upto(self) -> int | None:
        """Where what has been written ends."""
        return self.written[-1].upto if self.written else None

    def fit(self, is_revised: IsRevised, *, upto: int) -> None:
        """Throw away what would come out otherwise by now, has been lost, or goes beyond the cut; and all after it."""
        for place, part in enumerate(self.written):
            if part.upto > upto or part.is_outdated(is_revised) or not part.is_whole():
                self.keep_only(self.written[:place])
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPart:
    """One update that computes a part of a view anew."""

    underway: ViewUnderway
    upto: int
    """Where it ends, in microseconds."""
    left: float
    """How many bytes of its sources no part before it has gone through."""
    whole: float
    """How many there are in all."""
    is_last: bool
    is_revised: IsRevised

    @property
    def progress(self) -> RebuildProgress:
        """For those who look on."""
        done = round(self.whole - self.left)
        return RebuildProgress(part=len(self.underway.written) + 1, done=done, whole=round(self.whole), unit="bytes")

    @property
    def span(self) -> Span:
        return Span(after=self.underway.upto, is_last=self.is_last)

    def keep(self, prepared: Prepared) -> None:
        """It has been written: it waits for the last one."""
        self.underway.keep(_Written(prepared=prepared, upto=self.upto), left=self.left)

    def gathered(self, prepared: Prepared) -> Prepared:
        """All of the view, where this is the last part; its commit names the sources as this part has found them.

        So what was written before must follow from these as well. That is asked when they have been pinned: what a
        source revises from then on is for the next update. What is handed out is forgotten before it lands.
        """
        contents = prepared.own[1].record.contents
        if any(part.is_outdated(self.is_revised) or part.contents != contents for part in self.underway.written):
            WrittenPart(prepared=prepared).discard()
            raise OutdatedPartsError("Sources have been revised while a view was computed anew in parts.")
        parts = [part.prepared for part in self.underway.handed_out()]
        return gathered(parts, prepared, files=())
