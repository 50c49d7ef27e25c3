"""What a check of `freshtide doctor` comes to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    ok: bool
    found: str
    way_out: str | None = None
