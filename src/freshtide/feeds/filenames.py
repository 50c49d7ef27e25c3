"""Timestamps in file names: `cpu_%Y%m%d%H%M*.csv`."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from freshtide.core.instants import micros_of, seconds
from freshtide.feeds.errors import NamePatternError, UnreadableFileError

_CODES = {
    "Y": r"\d{4}",
    "y": r"\d{2}",
    "m": r"\d{2}",
    "b": r"[A-Za-z]{3}",
    "d": r"\d{2}",
    "j": r"\d{3}",
    "H": r"\d{2}",
    "I": r"\d{2}",
    "p": r"[AaPp][Mm]",
    "M": r"\d{2}",
    "S": r"\d{2}",
    "f": r"\d{1,6}",
    "z": r"Z|[+-]\d{2}:?\d{2}",
    "s": r"\d{1,11}",
}
_SUPPORTED = (
    "Write it like cpu_%Y%m%d%H%M*.csv. Supported are "
    + " ".join(f"%{code}" for code in _CODES)
    + " (%s: seconds since the epoch), %% and the wildcard *."
)
_TOKEN = re.compile(r"%(?P<code>.)|(?P<wildcard>\*)|(?P<text>.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern, compiled once per feed."""

    text: str
    regex: re.Pattern[str]
    codes: tuple[str, ...]

    def timestamp(self, name: str, zone: tzinfo = UTC) -> float:
        """Float seconds of the time in a file name; one that says no zone is of this one."""
        match = self.regex.fullmatch(name)
        if match is None:
            raise self._mismatch(name)
        try:
            if "s" in self.codes:
                return float(match["s"])
            # Spaces keep the codes apart, so that none can take digits of its neighbour.
            values = " ".join(match[code] for code in self.codes)
            moment = datetime.strptime(values, " ".join(f"%{code}" for code in self.codes))
        except ValueError:
            raise self._mismatch(name) from None
        return seconds(micros_of(moment if moment.tzinfo else moment.replace(tzinfo=zone)))

    def _mismatch(self, name: str) -> UnreadableFileError:
        return UnreadableFileError(
            f"The file name '{name}' does not match the feed's pattern '{self.text}' (timestamp: name).",
            way_out="Rename the file, mend the pattern, or narrow the feed's path.",
        )


@functools.lru_cache(maxsize=1_024)
def name_pattern(text: str | None) -> NamePattern:
    """The compiled pattern; a NamePatternError where it could never give a timestamp."""
    if not text:
        raise NamePatternError("A timestamp that comes from the file name needs a pattern.", way_out=_SUPPORTED)
    codes: list[str] = []
    regex = ""
    for token in _TOKEN.finditer(text):
        code = token["code"]
        if code is None:
            regex += ".*?" if token["wildcard"] else re.escape(token["text"])
        elif code == "%":
            regex += "%"
        elif code not in _CODES:
            raise NamePatternError(f"%{code} in the file name pattern '{text}' is unknown.", way_out=_SUPPORTED)
        elif code in codes:
            # The same part twice (`%Y/%Y%m%d` flattened): both must agree.
            regex += f"(?P={code})"
        else:
            codes.append(code)
            regex += f"(?P<{code}>{_CODES[code]})"
    if not {"Y", "y", "s"}.intersection(codes):
        raise NamePatternError(f"The file name pattern '{text}' names no year.", way_out=_SUPPORTED)
    return NamePattern(text, re.compile(regex, re.DOTALL | re.ASCII), tuple(codes))
