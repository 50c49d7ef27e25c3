"""When a file counts as complete."""

from __future__ import annotations

import re
from dataclasses import dataclass

from freshtide.core.feeds import Settling

Signature = tuple[int, int]
"""Size and modification time (nanoseconds): what tells, without reading, that a file has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a file looked like, and since when."""

    signature: Signature
    since: float
    """By a clock that nobody sets."""


def has_settled(settling: Settling, signature: Signature, before: Look | None, now: float, *, steady: float) -> bool:
    """Whether nobody is writing a file any more, judged from two looks at it.

    A file that is old when first seen was renamed into place, or lay there: one look is enough. A
    modification time in the future says nothing about age: then the wait counts from the first look. `now` is
    compared with modification times, `steady` with earlier looks: it is of a clock that nobody sets back.
    """
    quiet = settling.quiet
    if quiet <= 0:
        return True
    age = now - signature[1] / 1e9
    if before is None:
        return age >= quiet
    if before.signature != signature:
        return False
    return age >= quiet or steady - before.since >= quiet


class Markers:
    """The names of marker files, from a template such as `{name}.done` or `{stem}.ok`."""

    def __init__(self, template: str) -> None:
        self._template = template
        name = re.escape(template)
        for placeholder in ("{name}", "{stem}"):
            name = name.replace(re.escape(placeholder), ".+")
        self._any = re.compile(name, re.DOTALL)

    def is_marker(self, name: str) -> bool:
        return self._any.fullmatch(name) is not None

    def of(self, name: str) -> str:
        """The marker of a file; its stem is the name without the extension, be it `.csv` or `.csv.gz`."""
        stem = name.removesuffix(".gz").rpartition(".")[0] or name
        return self._template.replace("{name}", name).replace("{stem}", stem)
