"""Sizes as users write them (`64MB`, `1GiB`, `500 kB`), in bytes."""

from __future__ import annotations

import math
import re

from freshtide.core.errors import FreshtideError

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt]?)(i?)b)?\s*", re.IGNORECASE)


class SizeError(FreshtideError):
    """A size that cannot be understood."""


def parse_size(text: str | int) -> int:
    """Bytes of a size; a bare number counts bytes.

    >>> parse_size("64MB"), parse_size("1GiB"), parse_size(512)
    (64000000, 1073741824, 512)
    """
    match = None if isinstance(text, bool) else _SIZE.fullmatch(str(text))
    if match is None or (match[3] and not match[2]):
        raise SizeError(f"'{text}' is not a size.", way_out="Write it like 500kB, 64MB or 1GiB.")
    step = 1024 if match[3] else 1000
    return round(float(match[1]) * math.pow(step, _POWERS[(match[2] or "").lower()]))
