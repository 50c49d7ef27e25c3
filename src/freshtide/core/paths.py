"""Paths as users write them: folders and files of this machine."""

from __future__ import annotations

import re

# Two letters at least: a single one is a drive. A colon elsewhere is part of a name.
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/")


def path_fault(text: str) -> tuple[str, str] | None:
    """What is wrong with a path that begins with a scheme, and the way out; None for a path of this machine.

    It would be taken for a folder called `s3:` otherwise, and nobody would notice.
    """
    found = _SCHEME.match(text.strip())
    if found is None:
        return None
    scheme = found["scheme"].lower()
    if scheme == "file":
        plain = "/" + text.strip()[found.end() :].lstrip("/")
        return f"'{text}' is a URL, and a path is expected here.", f"Write the path alone: {plain}"
    return (
        f"'{text}' is on {scheme}, and Freshtide reads and writes folders of this machine only.",
        f"Write a folder: one where {scheme} is mounted, or one that its files are copied to.",
    )
