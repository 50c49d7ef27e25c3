"""CSV files: counted line by line as Spark splits them, or record by record where values span lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Feed, Format
from freshtide.feeds.columnfaults import fault_of_columns
from freshtide.feeds.content import Content, LatestTime, Wanted
from freshtide.feeds.errors import UnreadableFileError, VanishedFileError
from freshtide.feeds.formats.format import UTF8, OptionError, require_encoding
from freshtide.feeds.rawfiles import RawFile, line_blocks
from freshtide.feeds.textfiles import holds, packed_or_not, read_text

# What Spark trims before it asks whether a line is empty: everything up to the space.
_BLANK = bytes(range(33))
# By the names that Spark knows them by.
_NARROW = ("us-ascii", "iso-8859-1")
_WIDE = ("utf-16", "utf-16be", "utf-16le", "utf-32")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat(Format):
    """How a line becomes fields."""

    name = "csv"
    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    """What stands before a quote within quotes: by RFC 4180 another quote."""
    multiline: bool = False
    null_value: str = ""


class CsvFiles:
    """Columns are matched by the header or, without one, by their order in the schema."""

    options = CsvFormat
    title = "CSV"
    aliases = ()
    extensions = packed_or_not(".csv")

    def check(self, feed: Feed) -> None:
        options = CsvFormat.of(feed)
        # Spark looks for the ends of lines before it decodes them, unless it takes a file as a whole.
        require_encoding(feed, (UTF8, *_NARROW, *_WIDE) if options.multiline else (UTF8, *_NARROW))
        if not options.delimiter:
            raise OptionError("delimiter", "'delimiter' is empty.", way_out='Write the character, like ";" or "\\t".')
        if options.multiline and any(len(mark) > 1 for mark in (options.delimiter, options.quote, options.escape)):
            raise OptionError(
                "multiline",
                f"Feed '{feed.name}' is multiline with a delimiter, quote or escape of several characters.",
                way_out="Use single characters.",
            )
        time_column = feed.time.column
        if not options.header and time_column is not None and time_column not in feed.column_names:
            raise OptionError(
                "header",
                f"Feed '{feed.name}' does not declare its time column '{time_column}'.",
                way_out="Without a header its place must come from the schema: add it there.",
            )

    def read(self, feed: Feed, raw: RawFile, wanted: Wanted) -> Content:
        return read_text(feed, raw, wanted, _read_records if CsvFormat.of(feed).multiline else _read_lines)

    def column_fault(self, feed: Feed, columns: tuple[str, ...]) -> str | None:
        # A delimiter at the end of a header makes no column; rows with a value there are rejected.
        return fault_of_columns(feed, tuple(name for name in columns if name.strip()))


def record_lines(feed: Feed, file: Arrival) -> list[bytes] | None:
    """The lines of a file that are its records, in UTF-8, without the header.

    None where a record is not just a line, and where the file cannot be read or is not what it was on arrival: then
    whoever reads the file itself will find out.
    """
    options = CsvFormat.of(feed)
    if options.multiline:
        return None
    try:
        with RawFile(file.position) as raw:
            lines = [line for block in _filled_lines(feed, raw) for line in block]
            if raw.sha256() != file.digest:
                return None
    except (UnreadableFileError, VanishedFileError):
        return None
    return lines[1:] if options.header else lines


def holds_times_of_day(feed: Feed, file: Arrival) -> bool:
    """Whether a field may begin like 12:00 or T12, with blanks and a quote before it or not."""
    return holds(_holds_times_of_day, feed, file)


def _holds_times_of_day(feed: Feed, raw: RawFile) -> bool:
    options = CsvFormat.of(feed)
    before = re.escape(options.delimiter.encode()[-1:] + options.quote.encode())
    pattern = re.compile(rb"(?:^|[" + before + rb"])[\x00-\x20\x7f]*(?:\d\d?:|T\d)", re.MULTILINE)
    return any(pattern.search(b"\n".join(lines)) for lines in line_blocks(raw, options.encoding))


class Splitter:
    """Splits a line into its fields as Spark's parser does.

    A field that starts with a quote ends with one; the escape counts only there. Anything else runs up
    to the delimiter: `C:\\data\\` is a value like any other, which Python's csv module cannot express.
    """

    def __init__(self, options: CsvFormat) -> None:
        self.delimiter = options.delimiter.encode()
        self.quote = options.quote.encode()
        delimiter = re.escape(self.delimiter)
        field = rb"(?:(?!" + delimiter + rb").)*+"
        if len(self.delimiter) == 1:
            field = rb"[^" + delimiter + rb"]*+"  # the same, but much faster
        if self.quote:
            quote, escape = re.escape(self.quote), re.escape(options.escape.encode())
            inner = [quote + quote, rb"(?!" + quote + rb")."]
            if escape and escape != quote:
                inner = [escape + rb".", *inner]
            quoted = quote + rb"(?:" + rb"|".join(inner) + rb")*+" + quote
            field = rb"(?:" + quoted + rb"(?=" + delimiter + rb"|\Z)|" + field + rb")"
        self._field = field
        self._delimiter = delimiter
        self._next = re.compile(rb"(" + field + rb")(" + delimiter + rb"|\Z)", re.DOTALL)
        escaped = {re.escape(options.escape + options.quote), re.escape(options.quote * 2)}
        self._escaped_quote = re.compile("|".join(sorted(escaped)))
        self._quote_text = options.quote

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


def _read_lines(feed: Feed, raw: RawFile, latest: LatestTime | None) -> Content:
    options = CsvFormat.of(feed)
    splitter = Splitter(options)
    columns: tuple[str, ...] | None = None
    column = None if latest is None or options.header else _TimeColumn(splitter, feed, feed.brought_names)
    rows = 0
    for lines in _filled_lines(feed, raw):
        if options.header and columns is None and lines:
            columns = tuple(splitter.fields(lines.pop(0)))
            if latest is not None and feed.time.column in columns:
                column = _TimeColumn(splitter, feed, columns)
        rows += len(lines)
        if column is not None and latest is not None:
            latest.see_fields(column.fields(lines), splitter.value)
    return Content(rows=rows, columns=columns, latest=latest.instant if latest else None)


def _filled_lines(feed: Feed, raw: RawFile) -> Iterator[list[bytes]]:
    return ([line for line in block if line.strip(_BLANK)] for block in line_blocks(raw, feed.format.encoding))


class _TimeColumn:
    """Takes the time column out of many lines at once."""

    def __init__(self, splitter: Splitter, feed: Feed, columns: tuple[str, ...]) -> None:
        self._splitter = splitter
        self._index = columns.index(feed.time.column)
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
    options = CsvFormat.of(feed)
    index = None if latest is None or options.header else feed.brought_names.index(feed.time.column)
    rows = 0
    escape = options.escape if options.escape not in ("", options.quote) else None
    reader = csv.reader(
        _text_lines(raw, options.encoding),
        delimiter=options.delimiter,
        quotechar=options.quote or None,
        quoting=csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
        escapechar=escape,
    )
    try:
        for record in reader:
            if not record or (len(record) == 1 and record[0].isspace()):
                continue
            if options.header and columns is None:
                columns = tuple(record)
                index = columns.index(feed.time.column) if feed.time.column in columns else None
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
