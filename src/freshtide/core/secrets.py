"""What must not be shown: the values of secrets, taken out of every text that leaves the process.

Which values these are is known once a project has been read. There is one list for the process, because whatever
prints, logs or writes down an error has to keep to it, whoever raised the error.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote, quote_plus

HIDDEN = "***"
# As Spark has it, and what else a password is called.
_SECRET_NAME = re.compile(r"secret|passw(or)?d|passphrase|token|credential|(access|account|api|private)[._-]?key", re.I)
# Shorter ones would take common words out of every text.
_SHORTEST = 4
_values: set[str] = set()


def is_secret_name(name: str) -> bool:
    """Whether a setting, variable or parameter of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def hide(value: str) -> None:
    """From now on this value is shown nowhere, in no spelling that it has in JSON and in URLs either."""
    if len(value) >= _SHORTEST:
        _values.update((value, json.dumps(value)[1:-1], quote(value), quote(value, safe=""), quote_plus(value)))


def redacted(text: str) -> str:
    """The text without the values of secrets."""
    # The longest first: one may be part of another.
    for value in sorted(_values, key=lambda value: (-len(value), value)):
        text = text.replace(value, HIDDEN)
    return text
