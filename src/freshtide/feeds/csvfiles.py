"""CSV files: counted line by line as Spark splits them, or record by record where values span lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from freshtide.core.tables import Feed
from freshtide.feeds.content import Content, LatestTime
from freshtide.feeds.errors import UnreadableFileError
from freshtide.feeds.rawfiles import RawFile, line_blocks

# What Spark trims before it asks whether a line is empty: everything up to the space.
_BLANK = bytes(range(33))


class Splitter:
    """Splits a line into its fields as Spark's parser does.

    A field that starts with a quote ends with one; the escape counts only there. Anything else runs up
    to the delimiter: `C:\\data\\` is a value like any other, which Python's csv module cannot express.
    """

    def __init__(self, feed: Feed) -> None:
        self.delimiter = feed.delimiter.encode()
        self.quote = feed.quote.encode()
        delimiter = re.escape(self.delimiter)
        field = rb"(?:(?!" + delimiter + rb").)*+"
        if len(self.delimiter) == 1:
            field = rb"[^" + delimiter + rb"]*+"  # the same, but much faster
        if self.quote:
            quote, escape = re.escape(self.quote), re.escape(feed.escape.encode())
            inner = [quote + quote, rb"(?!" + quote + rb")."]
            if escape and escape != quote:
                inner = [escape + rb".", *inner]
            quoted = quote + rb"(?:" + rb"|".join(inner) + rb")*+" + quote
            field = rb"(?:" + quoted + rb"(?=" + delimiter + rb"|\Z)|" + field + rb")"
        self._field = field
        self._delimiter = delimiter
        self._next = re.compile(rb"(" + field + rb")(" + delimiter + rb"|\Z)", re.DOTALL)
        escaped = {re.escape(feed.escape + feed.quote), re.escape(feed.quote * 2)}
        self._escaped_quote = re.compile("|".join(sorted(escaped)))
        self._quote_text = feed.quote

    def fields(self, line: bytes) -> list[str]:
        found = []
        position = 0
        while (match := self._next.match(line, position)) is not None:
            found.append(self.value(match[1]))
            position = match.end()
            if not match[2]:
                break
        return found

    def field_at(self, index: int) -> re.Pattern[bytes]:
        """A pattern whose first group is the field at an index."""
        before = rb"(?:" + self._field + self._delimiter + rb"){%d}+" % index
        return re.compile(before + rb"(" + self._field + rb")(?:" + self._delimiter + rb"|\Z)", re.DOTALL)

    def value(self, field: bytes) -> str:
        """The text of a field, without its quotes."""
        text, quote = field.decode(), self._quote_text
        if not quote or len(text) < 2 or not (text.startswith(quote) and text.endswith(quote)):
            return text
        return self._escaped_quote.sub(lambda _: quote, text[1:-1])


def read_csv(feed: Feed, raw: RawFile, latest: LatestTime | None) -> Content:
    """Count the records, and feed the values of the time column to `latest` if it is wanted."""
    return _read_records(feed, raw, latest) if feed.multiline else _read_lines(feed, raw, latest)


def record_lines(feed: Feed, raw: RawFile) -> list[bytes]:
    """The lines of a file whose records do not span lines, without its header."""
    lines = [line for block in _filled_lines(feed, raw) for line in block]
    return lines[1:] if feed.header else lines


def holds_times_of_day(feed: Feed, raw: RawFile) -> bool:
    """Whether a field may begin like 12:00 or T12, with blanks and a quote before it or not."""
    before = re.escape(feed.delimiter.encode()[-1:] + feed.quote.encode())
    pattern = re.compile(rb"(?:^|[" + before + rb"])[\x00-\x20\x7f]*(?:\d\d?:|T\d)", re.MULTILINE)
    return any(pattern.search(b"\n".join(lines)) for lines in line_blocks(raw, feed.encoding))


def _read_lines(feed: Feed, raw: RawFile, latest: LatestTime | None) -> Content:
    splitter = Splitter(feed)
    columns: tuple[str, ...] | None = None
    column = None if latest is None or feed.header else _TimeColumn(splitter, feed, feed.column_names)
    rows = 0
    for lines in _filled_lines(feed, raw):
        if feed.header and columns is None and lines:
            columns = tuple(splitter.fields(lines.pop(0)))
            if latest is not None and feed.time_column in columns:
                column = _TimeColumn(splitter, feed, columns)
        rows += len(lines)
        if column is not None and latest is not None:
            latest.see_fields(column.fields(lines), splitter.value)
    return Content(rows=rows, columns=columns, latest=latest.instant if latest else None)


def _filled_lines(feed: Feed, raw: RawFile) -> Iterator[list[bytes]]:
    return ([line for line in block if line.strip(_BLANK)] for block in line_blocks(raw, feed.encoding))


class _TimeColumn:
    """Takes the time column out of many lines at once."""

    def __init__(self, splitter: Splitter, feed: Feed, columns: tuple[str, ...]) -> None:
        self._splitter = splitter
        self._index = columns.index(feed.time_column)
        self._pattern = splitter.field_at(self._index)

    def fields(self, lines: list[bytes]) -> set[bytes]:
        """The distinct fields of the column in these lines; lines too short to have it are left out."""
        delimiter, quote, index = self._splitter.delimiter, self._splitter.quote, self._index
        plain = [line for line in lines if quote not in line] if quote else lines
        fields = {parts[index] for line in plain if len(parts := line.split(delimiter, index + 1)) > index}
        if len(plain) < len(lines):
            matches = (self._pattern.match(line) for line in lines if quote in line)
            fields.update(match[1] for match in matches if match is not None)
        return fields


def _read_records(feed: Feed, raw: RawFile, latest: LatestTime | None) -> Content:
    columns: tuple[str, ...] | None = None
    index = None if feed.header else feed.column_names.index(feed.time_column)
    rows = 0
    escape = feed.escape if feed.escape not in ("", feed.quote) else None
    reader = csv.reader(
        _text_lines(raw, feed.encoding),
        delimiter=feed.delimiter,
        quotechar=feed.quote or None,
        quoting=csv.QUOTE_MINIMAL if feed.quote else csv.QUOTE_NONE,
        escapechar=escape,
    )
    try:
        for record in reader:
            if not record or (len(record) == 1 and record[0].isspace()):
                continue
            if feed.header and columns is None:
                columns = tuple(record)
                index = columns.index(feed.time_column) if feed.time_column in columns else None
                continue
            rows += 1
            if latest is not None and index is not None and index < len(record):
                latest.see((record[index],))
    except csv.Error as error:
        raise UnreadableFileError(
            f"The CSV is broken near line {reader.line_num}: {error}.", way_out="Is a quote left open?"
        ) from error
    return Content(rows=rows, columns=columns, latest=latest.instant if latest else None)


def _text_lines(raw: RawFile, encoding: str) -> Iterator[str]:
    for block in line_blocks(raw, encoding):
        for line in block:
            yield line.decode() + "\n"
