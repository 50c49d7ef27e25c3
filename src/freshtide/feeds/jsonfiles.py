"""JSON files: a record a line. A line that is no JSON is a record all the same, for the loader to reject."""

from __future__ import annotations

import json
import re
from typing import Any

from freshtide.core.tables import Feed
from freshtide.feeds.content import Content, LatestTime
from freshtide.feeds.rawfiles import RawFile, line_blocks

_LOOKED_AT_FOR_COLUMNS = 1_000
_BLANK = b" \t\r\n"
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"')
# An array, something after the end of an object, or two objects with a comma between them.
_ODD = re.compile(rb"^[ \t]*\[|\}[ \t]*[^\s,}\]]|^[^\[\n]*\},[ \t]*\{", re.MULTILINE)


def read_json(feed: Feed, raw: RawFile, latest: LatestTime | None) -> Content:
    """Count the records, and feed the values of the time column to `latest` if it is wanted."""
    columns: dict[str, None] = {}
    rows = 0
    for block in line_blocks(raw, feed.encoding):
        lines = [line for line in block if line.strip(_BLANK)]
        for record in map(_record, lines[: max(0, _LOOKED_AT_FOR_COLUMNS - rows)]):
            columns.update(dict.fromkeys(record))
        if latest is not None:
            latest.see(text for line in lines if (text := _time(feed, _record(line))) is not None)
        rows += len(lines)
    return Content(rows=rows, columns=tuple(columns) if rows else None, latest=latest.instant if latest else None)


def holds_odd_lines(feed: Feed, raw: RawFile) -> bool:
    """Whether a line may hold something else than one object, or more than that.

    Spark's reader makes as many rows of an array as it has elements, and reads no further than to the end of an object.
    """
    for lines in line_blocks(raw, feed.encoding):
        if _ODD.search(b"\n".join(lines)) and any(
            _ODD.search(line) and _ODD.search(_TEXT.sub(b'""', line)) for line in lines
        ):
            return True
    return False


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _time(feed: Feed, record: dict[str, Any]) -> str | None:
    value = record.get(feed.time_column)
    if isinstance(value, str):
        return value
    # A bare number is a time only where the feed says how to read its digits.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and feed.time_format is not None else None
