"""JSON files: a record a line. A line that is no JSON is a record all the same, for the loader to reject."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from freshtide.core import halves
from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Feed, Format
from freshtide.feeds.columnfaults import fault_of_keys
from freshtide.feeds.content import Content, LatestTime, Wanted
from freshtide.feeds.formats.format import require_encoding
from freshtide.feeds.rawfiles import RawFile, line_blocks
from freshtide.feeds.textfiles import holds, packed_or_not, read_text

_LOOKED_AT_FOR_COLUMNS = 1_000
_BLANK = b" \t\r\n"
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"')
# Lines that are one object at first sight: nothing in them but their ends could be the end of one.
_PLAIN = re.compile(rb"^[ \t]*\{[^{}\[\]'\\\n]*\}[ \t\r]*$", re.MULTILINE)
_BRACKET = re.compile(rb"[{}\[\]]")
_ESCAPED_BACKSLASH, _PAIR, _HALF = halves.ESCAPED_BACKSLASH.encode(), halves.PAIR.encode(), halves.HALF.encode()
# The beginning of a text like 12:00 or T12. Any character may be written as an escape.
_TIME_OF_DAY = re.compile(rb'"[\x00-\x20\x7f]*(?:\d\d?:|T\d|\d{0,2}\\|T\\)')


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFormat(Format):
    """There are no options: a line is an object, in UTF-8."""

    name = "json"


class JsonFiles:
    """Each line names its values: any of them may be missing."""

    options = JsonFormat
    title = "JSON"
    aliases = ("jsonl", "ndjson")
    extensions = packed_or_not(".json", ".jsonl", ".ndjson")

    def check(self, feed: Feed) -> None:
        require_encoding(feed)

    def read(self, feed: Feed, raw: RawFile, wanted: Wanted) -> Content:
        return read_text(feed, raw, wanted, _read)

    def column_fault(self, feed: Feed, columns: tuple[str, ...]) -> str | None:
        return fault_of_keys(feed, columns)


def holds_odd_lines(feed: Feed, file: Arrival) -> bool:
    """Whether a line may hold something else than one object, or more than that.

    Spark's reader makes as many rows of an array as it has elements, and reads no further than to the end of an object.
    """
    return holds(_holds_odd_lines, feed, file)


def holds_times_of_day(feed: Feed, file: Arrival) -> bool:
    """Whether a text may begin like a time of day."""
    return holds(_holds_times_of_day, feed, file)


def _read(feed: Feed, raw: RawFile, latest: LatestTime | None) -> Content:
    columns: dict[str, None] = {}
    rows = 0
    for block in line_blocks(raw, feed.format.encoding):
        lines = [line for line in block if line.strip(_BLANK)]
        for record in map(_record, lines[: max(0, _LOOKED_AT_FOR_COLUMNS - rows)]):
            columns.update(dict.fromkeys(record))
        if latest is not None:
            latest.see(text for line in lines if (text := _time(feed, _record(line))) is not None)
        rows += len(lines)
    return Content(rows=rows, columns=tuple(columns) if rows else None, latest=latest.instant if latest else None)


def _holds_odd_lines(feed: Feed, raw: RawFile) -> bool:
    for lines in line_blocks(raw, feed.format.encoding):
        rest = _PLAIN.sub(b"", b"\n".join(lines))
        if not all(_is_one_object(line) for line in rest.split(b"\n") if line.strip(_BLANK)):
            return True
    return False


def _is_one_object(line: bytes) -> bool:
    """Whether a line is certain to be one object, or none at all, as Spark will find by itself."""
    bare = _TEXT.sub(b"", line).strip(_BLANK)
    # Spark takes texts in single quotes, too: where they end is not known here.
    if not bare.startswith(b"{") or b"'" in bare or _holds_half_a_character(line):
        return False
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in b"{[" else -1
        if depth == 0:
            return bracket.end() == len(bare)
    return False


def _holds_half_a_character(line: bytes) -> bool:
    return b"\\" in line and re.search(_HALF, re.sub(_PAIR, b"", line.replace(_ESCAPED_BACKSLASH, b""))) is not None


def _holds_times_of_day(feed: Feed, raw: RawFile) -> bool:
    return any(_TIME_OF_DAY.search(b"\n".join(lines)) for lines in line_blocks(raw, feed.format.encoding))


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _time(feed: Feed, record: dict[str, Any]) -> str | None:
    value = record.get(feed.time.known_column)
    if isinstance(value, str):
        return value
    # A bare number is a time only where the feed says how to read its digits.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and feed.time.format is not None else None
