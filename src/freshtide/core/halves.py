r"""Halves of characters in JSON: `\ud83d` means something only before the half that goes with it.

No UTF-8 can hold half a character, so Spark stores a question mark in its place. All patterns are for texts without
escaped backslashes, which Python and Java understand alike.
"""

from __future__ import annotations

ESCAPED_BACKSLASH = "\\\\"
PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
HALF = r"\\u[dD][89a-fA-F]"
